package desired

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// MandatoryKey is the key under which everything answers that is about mandatory modules: every Kyma refers to
// it. It is no module's name, for it begins with an @.
const MandatoryKey = "@mandatory"

// MandatoryEntry is the name under which a Catalog holds the candidates of a mandatory module. A Kyma's own entry
// of that name, which is refused, has candidates of its own.
func MandatoryEntry(module string) string { return MandatoryKey + "/" + module }

// mandatoryModule is the module of a Catalog's entry, if that is about a mandatory one.
func mandatoryModule(entry string) (string, bool) {
	return strings.CutPrefix(entry, MandatoryKey+"/")
}

// IsMandatory tells whether a template says of itself that every Kyma has its module: by its field or its label.
func IsMandatory(template *v1beta2.ModuleTemplate) bool {
	return template.Spec.Mandatory || template.Labels[shared.LabelMandatoryModule] == shared.ValueTrue
}

// MandatoryModules are the names of the mandatory modules in a catalog, in order.
func (c Catalog) MandatoryModules() []string {
	var modules []string
	for entry := range c {
		if module, ok := mandatoryModule(entry); ok {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	return modules
}

// Mandatory are the candidates of a mandatory module.
func (c Catalog) Mandatory(module string) Candidates { return c[MandatoryEntry(module)] }

// gatherMandatory looks up what decides about the mandatory modules of this instance. What is being deleted is
// mandatory no longer.
func gatherMandatory(ctx context.Context, index Index, settings Settings, catalog Catalog) error {
	metas, err := ourReleaseMetas(ctx, index, settings, MandatoryKey)
	if err != nil {
		return err
	}
	for _, meta := range metas {
		if !meta.DeletionTimestamp.IsZero() {
			continue
		}
		module := ReleaseMetaModule(meta)
		found := catalog[MandatoryEntry(module)]
		found.ReleaseMetas = append(found.ReleaseMetas, meta)
		version := meta.Spec.Mandatory.Version
		for _, key := range []string{versionKey(module, version), conventionalName(module, version)} {
			templates, err := ourTemplates(ctx, index, settings, key)
			if err != nil {
				return err
			}
			found.Templates = append(found.Templates, templates...)
		}
		found.Templates = byName(found.Templates)
		catalog[MandatoryEntry(module)] = found
	}
	templates, err := ourTemplates(ctx, index, settings, MandatoryKey)
	if err != nil {
		return err
	}
	for _, template := range byName(templates) {
		module := MandatoryModuleOf(template)
		if !template.DeletionTimestamp.IsZero() || !settings.Serves(template.Labels[shared.LabelControllerName]) {
			continue
		}
		// A release meta decides, whether it makes the module mandatory or offers it in channels.
		speaking, err := ourReleaseMetas(ctx, index, settings, module)
		if err != nil {
			return err
		}
		if len(speaking) > 0 {
			continue
		}
		found := catalog[MandatoryEntry(module)]
		found.Templates = append(found.Templates, template)
		catalog[MandatoryEntry(module)] = found
	}
	return nil
}

func ourTemplates(ctx context.Context, index Index, settings Settings, key string) ([]*v1beta2.ModuleTemplate, error) {
	templates, err := index.Templates(ctx, key)
	if err != nil {
		return nil, err
	}
	var ours []*v1beta2.ModuleTemplate
	for _, template := range templates {
		if settings.Ours(template.Labels) {
			ours = append(ours, template)
		}
	}
	return ours, nil
}

// MandatoryModuleOf is the name of the module of a mandatory template: its own name where it does not say.
func MandatoryModuleOf(template *v1beta2.ModuleTemplate) string {
	return cmp.Or(ModuleNameOf(template), template.Name)
}

// Highest orders templates by semantic version and returns those of the highest; a version that cannot be read
// is lower than any other. The version of a template is the one that it says itself, or that its descriptor has.
func Highest(templates []*v1beta2.ModuleTemplate, versionOf func(*v1beta2.ModuleTemplate) string) []*v1beta2.ModuleTemplate {
	var highest []*v1beta2.ModuleTemplate
	var best *semver.Version
	for _, template := range templates {
		version, err := semver.NewVersion(versionOf(template))
		if err != nil {
			version = semver.New(0, 0, 0, "0", "")
		}
		switch {
		case best == nil || version.GreaterThan(best):
			highest, best = []*v1beta2.ModuleTemplate{template}, version
		case version.Equal(best):
			highest = append(highest, template)
		}
	}
	return highest
}

// NoLongerMandatory returns the object that positively says that a module, which was mandatory, is so no longer:
// a release meta or template that is being deleted, or that is there and does not make it mandatory. Nil means
// that nothing says so: what cannot be found removes nothing.
func NoLongerMandatory(ctx context.Context, index Index, settings Settings, module string) (client.Object, error) {
	metas, err := ourReleaseMetas(ctx, index, settings, module)
	if err != nil {
		return nil, err
	}
	for _, meta := range metas {
		if meta.Spec.Mandatory != nil && meta.DeletionTimestamp.IsZero() {
			return nil, nil
		}
	}
	if len(metas) > 0 {
		return metas[0], nil
	}
	templates, err := ourTemplates(ctx, index, settings, module)
	if err != nil {
		return nil, err
	}
	var says client.Object
	for _, template := range byName(templates) {
		if MandatoryModuleOf(template) != module && ModuleNameOf(template) != module {
			continue
		}
		if IsMandatory(template) && template.DeletionTimestamp.IsZero() {
			return nil, nil
		}
		if says == nil {
			says = template
		}
	}
	return says, nil
}
