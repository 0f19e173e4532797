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

// MandatoryKey is the key of all objects about mandatory modules. Every Kyma refers to it. It begins with an @, so it
// cannot be a module's name.
const MandatoryKey = "@mandatory"

// MandatoryEntry returns the name under which a Catalog holds the candidates of a mandatory module. If a Kyma lists
// that module, the entry is refused, and has its own candidates under its own name.
func MandatoryEntry(module string) string { return MandatoryKey + "/" + module }

// mandatoryModule returns the module of a Catalog's entry for a mandatory module; ok is false for other entries.
func mandatoryModule(entry string) (string, bool) {
	return strings.CutPrefix(entry, MandatoryKey+"/")
}

// WithoutBuild returns a semantic version without its build metadata. Templates have no build metadata in their
// version, because their names could not contain it.
func WithoutBuild(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// IsMandatory reports whether a template declares its module mandatory, by its field or its label.
func IsMandatory(template *v1beta2.ModuleTemplate) bool {
	return template.Spec.Mandatory || template.Labels[shared.LabelMandatoryModule] == shared.ValueTrue
}

// MakesMandatory reports whether a template makes its module mandatory by itself: the template declares it, and no
// release meta has ever decided about it.
func MakesMandatory(template *v1beta2.ModuleTemplate) bool {
	return IsMandatory(template) && template.Annotations[AnnotationMandatoryBy] == ""
}

// MandatoryModules returns the names of the mandatory modules in a catalog, sorted.
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

// Mandatory returns the candidates of a mandatory module.
func (c Catalog) Mandatory(module string) Candidates { return c[MandatoryEntry(module)] }

// formerEntry is the name under which a Catalog holds objects that made a module mandatory and no longer do. Our
// finalizer keeps them until the module is gone. They are inputs, because the approval of the removal is an annotation
// on them.
const formerEntry = "@formerly-mandatory"

// gatherMandatory finds the objects that decide about the mandatory modules of this instance. Objects that are being
// deleted no longer make a module mandatory.
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
		// If the module has a release meta, the release meta decides instead, whether it makes the module mandatory or
		// assigns it to channels.
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

// decides reports whether an object that declares its module mandatory makes it mandatory. An object that is being
// deleted does not.
func decides(object client.Object, mandatory bool) bool {
	return mandatory && object.GetDeletionTimestamp().IsZero()
}

func stays(meta *v1beta2.ModuleReleaseMeta) bool { return meta.DeletionTimestamp.IsZero() }

// concernsMandatory reports whether an object concerns every Kyma, because it makes a module mandatory or once did.
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

// MandatoryModuleOf returns the module name of a mandatory template. If the template does not name its module, the name
// comes from the convention `<module>-<version>`, or else is the template's own name.
func MandatoryModuleOf(template *v1beta2.ModuleTemplate) string {
	byConvention := ""
	if version := template.Spec.Version; version != "" {
		byConvention, _ = strings.CutSuffix(template.Name, "-"+version)
	}
	return cmp.Or(ModuleNameOf(template), byConvention, template.Name)
}

// Highest returns the templates with the highest semantic version. A version that cannot be parsed is lower than any
// other. VersionOf returns the version of a template.
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

// NoLongerMandatory returns the object which proves that a module is no longer mandatory. That is an existing release
// meta that assigns the module to channels, or a release meta or template that made it mandatory and no longer does or
// is being deleted. Nil means that there is no proof: a missing object removes nothing.
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
