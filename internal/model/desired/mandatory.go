package desired

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
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

// WithoutBuild is a semantic version without its build metadata, which no template has: no name could hold it.
func WithoutBuild(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// IsMandatory tells whether a template says of itself that every Kyma has its module: by its field or its label.
func IsMandatory(template *v1beta2.ModuleTemplate) bool {
	return template.Spec.Mandatory || template.Labels[shared.LabelMandatoryModule] == shared.ValueTrue
}

// MakesMandatory tells whether a template by itself makes its module mandatory: it has the mark, and no release meta
// ever decided about it.
func MakesMandatory(template *v1beta2.ModuleTemplate) bool {
	return IsMandatory(template) && template.Annotations[AnnotationMandatoryBy] == ""
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

// formerEntry is the name under which a Catalog holds what decided that a module is mandatory and does so no longer:
// it is held by our finalizer until the module is gone. It is an input, for an approval of the removal is on it.
const formerEntry = "@formerly-mandatory"

// gatherMandatory looks up what decides about the mandatory modules of this instance. What is being deleted is
// mandatory no longer.
func gatherMandatory(ctx context.Context, index Index, settings Settings, cluster rollout.Cluster, catalog Catalog) error {
	metas, err := ourReleaseMetas(ctx, index, settings, MandatoryKey)
	if err != nil {
		return err
	}
	former := Candidates{}
	for _, meta := range metas {
		if !decides(meta, meta.Spec.Mandatory != nil) {
			former.ReleaseMetas = append(former.ReleaseMetas, meta)
			continue
		}
		module := ReleaseMetaModule(meta)
		found := catalog[MandatoryEntry(module)]
		found.ReleaseMetas = append(found.ReleaseMetas, meta)
		versions, err := found.followRollouts(ctx, index, settings, meta, "", WithoutBuild(meta.Spec.Mandatory.Version), cluster)
		if err != nil {
			return err
		}
		for _, version := range versions {
			for _, key := range []string{versionKey(module, version), conventionalName(module, version)} {
				templates, err := ourTemplates(ctx, index, settings, key)
				if err != nil {
					return err
				}
				found.Templates = append(found.Templates, templates...)
			}
		}
		found.Templates = byName(found.Templates)
		catalog[MandatoryEntry(module)] = found
	}
	templates, err := ourTemplates(ctx, index, settings, MandatoryKey)
	if err != nil {
		return err
	}
	for _, template := range byName(templates) {
		if !decides(template, MakesMandatory(template)) {
			former.Templates = append(former.Templates, template)
			continue
		}
		module := MandatoryModuleOf(template)
		if !settings.Serves(template.Labels[shared.LabelControllerName]) {
			continue
		}
		// A release meta decides, whether it makes the module mandatory or offers it in channels.
		speaking, err := ourReleaseMetas(ctx, index, settings, module)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(speaking, stays) {
			continue
		}
		found := catalog[MandatoryEntry(module)]
		found.Templates = append(found.Templates, template)
		catalog[MandatoryEntry(module)] = found
	}
	if len(former.ReleaseMetas)+len(former.Templates) > 0 {
		catalog[formerEntry] = former
	}
	return nil
}

// decides tells whether an object that says so makes its module mandatory: not while it is being deleted.
func decides(object client.Object, mandatory bool) bool {
	return mandatory && object.GetDeletionTimestamp().IsZero()
}

func stays(meta *v1beta2.ModuleReleaseMeta) bool { return meta.DeletionTimestamp.IsZero() }

// concernsMandatory tells whether an object concerns every Kyma, because it makes a module mandatory or did.
func concernsMandatory(object client.Object, mandatory bool) bool {
	return mandatory || controllerutil.ContainsFinalizer(object, shared.FinalizerMandatoryModule)
}

func ourTemplates(ctx context.Context, index Index, settings Settings, key string) ([]*v1beta2.ModuleTemplate, error) {
	templates, err := index.Templates(ctx, key)
	if err != nil {
		return nil, err
	}
	return lists.Filter(templates, func(template *v1beta2.ModuleTemplate) bool { return settings.Ours(template.Labels) }), nil
}

// MandatoryModuleOf is the name of the module of a mandatory template: where it does not say, that of the convention
// `<module>-<version>`, else its own name.
func MandatoryModuleOf(template *v1beta2.ModuleTemplate) string {
	byConvention := ""
	if version := template.Spec.Version; version != "" {
		byConvention, _ = strings.CutSuffix(template.Name, "-"+version)
	}
	return cmp.Or(ModuleNameOf(template), byConvention, template.Name)
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

// NoLongerMandatory returns the object that positively says that a module, which was mandatory, is so no longer: a
// release meta that is there and offers it in channels, or one, or a template, that made it mandatory and is being
// deleted or does so no longer. Nil means that nothing says so: what cannot be found removes nothing.
func NoLongerMandatory(ctx context.Context, index Index, settings Settings, module string) (client.Object, error) {
	metas, err := ourReleaseMetas(ctx, index, settings, module)
	if err != nil {
		return nil, err
	}
	var says client.Object
	for _, meta := range metas {
		switch {
		case decides(meta, meta.Spec.Mandatory != nil):
			return nil, nil
		case stays(meta):
			return meta, nil
		default:
			says = meta
		}
	}
	templates, err := ourTemplates(ctx, index, settings, module)
	if err != nil {
		return nil, err
	}
	for _, template := range byName(templates) {
		if MandatoryModuleOf(template) != module {
			continue
		}
		if decides(template, MakesMandatory(template)) {
			return nil, nil
		}
		if says == nil && controllerutil.ContainsFinalizer(template, shared.FinalizerMandatoryModule) {
			says = template
		}
	}
	return says, nil
}
