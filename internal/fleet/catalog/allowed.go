package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// allowed returns the templates and release metas that a Kyma may see (docs/contract.md#the-catalog).
//
//   - It omits mandatory objects, and those of another instance or controller. It includes beta, internal and restricted
//     objects only if the Kyma may have them.
//   - For a module with a release meta, it returns only the versions of the meta's channels, and the meta with only those
//     channels that have a template for the Kyma. The Kyma can request everything that the meta offers.
//   - For a module without a release meta, it returns only templates that name their channel, as in the older generation.
//     Nobody could select other templates.
//   - If objects have the same name, the one in the Kyma's namespace wins, then the first by namespace: the remote cluster
//     has one namespace for all.
func allowed(kyma *v1beta2.Kyma, settings desired.Settings, remoteNamespace string, own bool,
	templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta,
) []client.Object {
	versions := map[string]map[string]bool{} // by module, from allowed release metas
	byMeta := map[string]bool{}              // modules with a release meta
	var allowed []client.Object
	var seen []*v1beta2.ModuleReleaseMeta
	visible := func(object client.Object) bool {
		_, imported := desired.ImportedFrom(object)
		return settings.Ours(object.GetLabels()) && !desired.IsSyncedCopy(object) && !imported &&
			// In the control plane's own cluster, objects in the remote namespace are originals.
			(!own || object.GetNamespace() != remoteNamespace)
	}
	for i := range metas {
		meta := &metas[i]
		if !settings.Ours(meta.Labels) || desired.IsSyncedCopy(meta) {
			continue
		}
		module := desired.ReleaseMetaModule(meta)
		byMeta[module] = true
		if meta.Spec.Mandatory != nil || settings.Denied(kyma, nil, meta) != "" {
			continue
		}
		if versions[module] == nil {
			versions[module] = map[string]bool{}
		}
		for _, assignment := range meta.Spec.Channels {
			versions[module][assignment.Version] = true
		}
		if visible(meta) {
			seen = append(seen, meta)
		}
	}
	offered := map[string]bool{} // names and versions of the templates that the Kyma may have
	for i := range templates {
		template := &templates[i]
		module := moduleOf(template, byMeta)
		_, imported := desired.ImportedFrom(template)
		switch {
		case !settings.Ours(template.Labels), desired.IsSyncedCopy(template), imported, desired.IsMandatory(template),
			!settings.Serves(template.Labels[shared.LabelControllerName]),
			settings.Denied(kyma, withoutRestriction(template, byMeta[module]), nil) != "":
			continue
		}
		offered[template.Name], offered[module+"-"+template.Spec.Version] = true, true
		choosable := template.Spec.Channel != ""
		if byMeta[module] {
			choosable = versions[module][template.Spec.Version]
		}
		if choosable && visible(template) {
			allowed = append(allowed, template)
		}
	}
	for _, meta := range seen {
		if offer := offering(meta, offered); offer != nil {
			allowed = append(allowed, offer)
		}
	}
	return onePerName(allowed, kyma.Namespace)
}

// offering returns a release meta with only those channels that have a template for the Kyma, or nil if there is none.
// It does not change the original, which belongs to the cache.
func offering(meta *v1beta2.ModuleReleaseMeta, offered map[string]bool) *v1beta2.ModuleReleaseMeta {
	withheld := func(c v1beta2.ChannelVersion) bool { return !offered[desired.ReleaseMetaModule(meta)+"-"+c.Version] }
	if !slices.ContainsFunc(meta.Spec.Channels, withheld) {
		return meta
	}
	offer := meta.DeepCopy()
	if offer.Spec.Channels = slices.DeleteFunc(offer.Spec.Channels, withheld); len(offer.Spec.Channels) == 0 {
		return nil
	}
	return offer
}

// moduleOf returns the module of a template: the module that the template names, or else the module in its name,
// `<module>-<version>`, if that module has a release meta.
func moduleOf(template *v1beta2.ModuleTemplate, byMeta map[string]bool) string {
	if module := desired.ModuleNameOf(template); module != "" {
		return module
	}
	if module, named := strings.CutSuffix(template.Name, "-"+template.Spec.Version); named && byMeta[module] {
		return module
	}
	return ""
}

// withoutRestriction removes the module's restriction from a template if the module has a release meta, because the
// release meta's restriction was already checked.
func withoutRestriction(template *v1beta2.ModuleTemplate, byMeta bool) *v1beta2.ModuleTemplate {
	if !byMeta {
		return template
	}
	labels := maps.Clone(template.Labels)
	delete(labels, shared.LabelModuleName)
	bare := &v1beta2.ModuleTemplate{}
	bare.Labels = labels
	return bare
}

func onePerName(objects []client.Object, preferred string) []client.Object {
	slices.SortFunc(objects, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(desired.KindOf(a), desired.KindOf(b)), cmp.Compare(a.GetName(), b.GetName()),
			lists.TrueFirst(a.GetNamespace() == preferred, b.GetNamespace() == preferred), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
	})
	return slices.CompactFunc(objects, func(a, b client.Object) bool {
		return desired.KindOf(a) == desired.KindOf(b) && a.GetName() == b.GetName()
	})
}
