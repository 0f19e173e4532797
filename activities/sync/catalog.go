package sync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// lastApplied is kubectl's own memory of an object, as big as the object and of no use in a copy.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// allowedCatalog picks the templates and release metas that a Kyma may see (docs/contract.md#the-catalog): never
// mandatory ones, none of another instance or controller, beta, internal and restricted ones only where
// permitted. Where a release meta speaks for a module, only the versions that its channels have are there, and of the
// release meta only the channels whose templates the Kyma may have: what it offers, it can be asked for.
// Of objects of equal name, the Kyma's own namespace wins, then the first by namespace: the remote cluster
// has one namespace for all.
func allowedCatalog(kyma *v1beta2.Kyma, settings desired.Settings, remoteNamespace string, own bool,
	templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta,
) []client.Object {
	versions := map[string]map[string]bool{} // by module, of allowed release metas
	spoken := map[string]bool{}              // modules that a release meta speaks for
	var allowed []client.Object
	var seen []*v1beta2.ModuleReleaseMeta
	visible := func(object client.Object) bool {
		_, taken := desired.TakenFrom(object)
		return settings.Ours(object.GetLabels()) && !desired.IsSyncedCopy(object) && !taken &&
			// In the control plane's own cluster, what is in the remote namespace already is the original.
			(!own || object.GetNamespace() != remoteNamespace)
	}
	for i := range metas {
		meta := &metas[i]
		if !settings.Ours(meta.Labels) || desired.IsSyncedCopy(meta) {
			continue
		}
		module := desired.ReleaseMetaModule(meta)
		spoken[module] = true
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
	offered := map[string]bool{} // names and versions that templates answer to which the Kyma may have
	for i := range templates {
		template := &templates[i]
		module := moduleOf(template, spoken)
		_, taken := desired.TakenFrom(template)
		switch {
		case !settings.Ours(template.Labels), desired.IsSyncedCopy(template), taken, desired.IsMandatory(template),
			!settings.Serves(template.Labels[shared.LabelControllerName]),
			settings.Denied(kyma, withoutRestriction(template, spoken[module]), nil) != "":
			continue
		}
		offered[template.Name], offered[module+"-"+template.Spec.Version] = true, true
		if visible(template) && (!spoken[module] || versions[module][template.Spec.Version]) {
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

// offering is a release meta with only the channels whose templates a Kyma may have; nil where there is none. The
// original is shared with the cache and stays as it is.
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

// moduleOf is the module that a template belongs to: as it says itself, else as it is named, `<module>-<version>`,
// where a release meta speaks for that module.
func moduleOf(template *v1beta2.ModuleTemplate, spoken map[string]bool) string {
	if module := desired.ModuleNameOf(template); module != "" {
		return module
	}
	if module, named := strings.CutSuffix(template.Name, "-"+template.Spec.Version); named && spoken[module] {
		return module
	}
	return ""
}

// withoutRestriction keeps the restriction of a module from being asked of a template twice: where a release
// meta speaks for the module, it has answered.
func withoutRestriction(template *v1beta2.ModuleTemplate, spoken bool) *v1beta2.ModuleTemplate {
	if !spoken {
		return template
	}
	labels := maps.Clone(template.Labels)
	delete(labels, shared.LabelModuleName)
	bare := &v1beta2.ModuleTemplate{}
	bare.Labels = labels
	return bare
}

func onePerName(objects []client.Object, preferred string) []client.Object {
	rank := func(o client.Object) int {
		if o.GetNamespace() == preferred {
			return 0
		}
		return 1
	}
	slices.SortFunc(objects, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(kindOf(a), kindOf(b)), cmp.Compare(a.GetName(), b.GetName()),
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
	})
	return slices.CompactFunc(objects, func(a, b client.Object) bool {
		return kindOf(a) == kindOf(b) && a.GetName() == b.GetName()
	})
}

func kindOf(object client.Object) string {
	if _, ok := object.(*v1beta2.ModuleReleaseMeta); ok {
		return shared.KindModuleReleaseMeta
	}
	return shared.KindModuleTemplate
}

// wantedCatalog is what the remote catalog is to hold for a Kyma, from the cache: nothing where it is switched off.
func (a *Activities) wantedCatalog(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, own bool) ([]catalogObject, error) {
	if !s.Catalog {
		return nil, nil
	}
	var templates v1beta2.ModuleTemplateList
	if err := a.catalog.List(ctx, &templates, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleTemplates: %w", err)
	}
	var metas v1beta2.ModuleReleaseMetaList
	if err := a.catalog.List(ctx, &metas, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleReleaseMetas: %w", err)
	}
	allowed := allowedCatalog(kyma, a.settings, s.Namespace, own, templates.Items, metas.Items)
	wanted := make([]catalogObject, 0, len(allowed))
	for _, source := range allowed {
		digest, err := a.digests.of(source)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, catalogObject{
			source: source, kind: kindOf(source), name: source.GetName(), namespace: s.Namespace,
			digest: digest, mark: desired.SyncedFrom(kyma),
		})
	}
	return wanted, nil
}

// catalogObject is one object that the remote catalog is to hold.
type catalogObject struct {
	source                client.Object // shared with the cache
	kind, name, namespace string
	digest, mark          string
}

func (o catalogObject) labels() map[string]string {
	return merged(o.source.GetLabels(), map[string]string{shared.LabelManagedBy: shared.ManagedByKyma})
}

func (o catalogObject) annotations() map[string]string {
	annotations := copiedAnnotations(o.source)
	annotations[shared.AnnotationAppliedDigest] = o.digest
	annotations[desired.AnnotationSyncedFrom] = o.mark
	if meta, ok := o.source.(*v1beta2.ModuleReleaseMeta); ok {
		annotations[shared.AnnotationChannels] = desired.ChannelsColumn(meta)
	}
	return annotations
}

// body is the object as it is applied. The generation is the one that it is expected to have afterwards.
func (o catalogObject) body(generation int64) (*unstructured.Unstructured, error) {
	spec, err := specOf(o.source)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(ourKind(o.kind))
	object.SetName(o.name)
	object.SetNamespace(o.namespace)
	object.SetLabels(o.labels())
	annotations := o.annotations()
	annotations[annotationGeneration] = fmt.Sprint(generation)
	object.SetAnnotations(annotations)
	return object, nil
}

func specOf(source client.Object) (map[string]any, error) {
	encoded, err := json.Marshal(source)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", kindOf(source), nameOf(source), err)
	}
	var content struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(encoded, &content); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", kindOf(source), nameOf(source), err)
	}
	return content.Spec, nil
}

// copiedAnnotations are all but those that are of use in the control plane only. Marks of ours come and go there, and
// must not be written into the clusters of a fleet each time.
func copiedAnnotations(source client.Object) map[string]string {
	annotations := merged(source.GetAnnotations(), nil)
	for _, own := range []string{
		lastApplied, desired.AnnotationHeldRemoval, desired.AnnotationHeldChange, desired.AnnotationApproveRemoval, desired.AnnotationMandatoryBy,
		shared.AnnotationChannels, // the copy has its own
	} {
		delete(annotations, own)
	}
	return annotations
}

// contentDigest is the digest of what is copied of an object, whichever Kyma it is copied for.
func contentDigest(source client.Object) (string, error) {
	spec, err := specOf(source)
	if err != nil {
		return "", err
	}
	labels := merged(source.GetLabels(), nil)
	delete(labels, shared.LabelManagedBy)
	encoded, err := json.Marshal([]any{spec, labels, copiedAnnotations(source)})
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", kindOf(source), nameOf(source), err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16]), nil
}
