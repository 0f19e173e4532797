package install

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// bundle is what a module's layers come to, encoded once and shared by all clusters that install it. It is
// never changed.
type bundle struct {
	// objects by stage, and within it in the order of the source.
	objects []object
	// definitions are the kinds that the module itself defines.
	definitions map[schema.GroupKind]definition
	// leftOut are those hooks of a chart that are never run, and its tests.
	leftOut []string
	// hooks of a chart, in the order in which they run.
	hooks []hook
}

// object is one object of a bundle.
type object struct {
	gvk schema.GroupVersionKind
	// namespace as the source gives it; empty where it gives none.
	namespace, name string
	stage           stage
	// optional objects are skipped where the cluster does not know their kind.
	optional bool
	// digest is that of the object as rendered, which it carries as an annotation.
	digest string
	// versions are those of a definition, whether served or not.
	versions []string
	// body is the object as it is applied, without its namespace, which the address of a request says.
	body template
	// unowned is the body without what marks the object as this module's; only namespaces have it.
	unowned template
	// refused says why no module may bring an object with these labels.
	refused string
}

// build turns rendered objects into a bundle, adapted to what is the same for many Manifests. They are changed.
func build(rendered *artifacts.Rendered, by adaptation) (*bundle, int64, error) {
	b := &bundle{definitions: map[schema.GroupKind]definition{}, leftOut: rendered.LeftOut}
	giveUp(rendered.Objects)
	if err := by.adapt(rendered.Objects); err != nil {
		return nil, 0, err
	}
	for _, h := range rendered.Hooks {
		if err := by.adapt([]*unstructured.Unstructured{h.Object}); err != nil {
			return nil, 0, err
		}
	}
	var size int64
	var err error
	if b.hooks, size, err = encodeHooks(rendered.Hooks); err != nil {
		return nil, 0, err
	}
	for _, u := range rendered.Objects {
		if u.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}) {
			if kind, d, ok := definitionOf(u); ok && reserved.Object(definitionKind(), types.NamespacedName{Name: u.GetName()}) == "" {
				b.definitions[kind] = d
			}
		}
		o, err := encode(u)
		if err != nil {
			return nil, 0, err
		}
		b.objects = append(b.objects, o)
		size += o.body.size() + o.unowned.size()
	}
	slices.SortStableFunc(b.objects, func(x, y object) int { return cmp.Compare(x.stage, y.stage) })
	return b, size, nil
}

// encode makes the body of an object: what is the server's to set is taken off, labels and annotations of
// the contract (section 4) are put on.
func encode(u *unstructured.Unstructured) (object, error) {
	o := object{gvk: u.GroupVersionKind(), namespace: u.GetNamespace(), name: u.GetName()}
	o.stage = stageOf(o.gvk.GroupKind())
	o.optional = u.GetAnnotations()[shared.AnnotationOptional] == annotationMarked
	o.refused = reserved.Marks(o.gvk.GroupKind(), o.name, u.GetLabels())
	clean(u)

	canonical, err := json.Marshal(u.Object)
	if err != nil {
		return o, fmt.Errorf("encode %s %s: %w", o.gvk.Kind, o.name, err)
	}
	sum := sha256.Sum256(canonical)
	o.digest = hex.EncodeToString(sum[:16])
	if onlyExistence(o.gvk) {
		o.versions = versionsOf(u)
	}
	mark(u, o.digest)
	marked, err := json.Marshal(u.Object)
	if err != nil {
		return o, fmt.Errorf("encode %s %s: %w", o.gvk.Kind, o.name, err)
	}
	o.body = newTemplate(marked)
	if o.stage == stageNamespaces {
		unmark(u)
		unowned, err := json.Marshal(u.Object)
		if err != nil {
			return o, fmt.Errorf("encode %s %s: %w", o.gvk.Kind, o.name, err)
		}
		o.unowned = newTemplate(unowned)
	}
	return o, nil
}

// clean takes off what only a server may set, and what the address of the request says.
func clean(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, pathStatus)
	for _, field := range []string{
		"namespace", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
		"managedFields", "resourceVersion", "selfLink", "uid",
	} {
		unstructured.RemoveNestedField(u.Object, pathMetadata, field)
	}
	unstructured.RemoveNestedField(u.Object, pathMetadata, pathAnnotations, "kubectl.kubernetes.io/last-applied-configuration")
}

// mark puts on the labels and annotations by which the object is known to be ours.
func mark(u *unstructured.Unstructured, digest string) {
	labels := maps.Clone(u.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[shared.LabelManagedBy] = shared.ManagedByKyma
	labels[shared.LabelComponent] = manifestNamePlace
	labels[shared.LabelPartOf] = shared.PartOfKyma
	u.SetLabels(labels)
	annotations := maps.Clone(u.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[shared.AnnotationDisclaimer] = shared.DisclaimerText
	annotations[shared.AnnotationOwnedBy] = ownerPlace
	annotations[shared.AnnotationAppliedDigest] = digest
	u.SetAnnotations(annotations)
}

// unmark takes off what says that the object is this module's, and leaves that it is a module's.
func unmark(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, pathMetadata, pathLabels, shared.LabelComponent)
	for _, annotation := range []string{shared.AnnotationOwnedBy, shared.AnnotationDisclaimer, shared.AnnotationAppliedDigest} {
		unstructured.RemoveNestedField(u.Object, pathMetadata, pathAnnotations, annotation)
	}
}

// Places in an encoded object that are filled for each Manifest. What fills them needs no JSON escapes:
// all are names of Kubernetes objects, or hexadecimal.
const (
	manifestNamePlace = "@@lifecycle-manager-manifest-name@@"
	ownerPlace        = "@@lifecycle-manager-owner@@"
	runPlace          = "@@lifecycle-manager-run@@"
)

// template is an encoded object with places that differ per Manifest.
type template struct {
	// pieces are joined by what fills the places between them.
	pieces [][]byte
	fills  []string
}

func newTemplate(encoded []byte) template {
	var t template
	for {
		at, place := nextPlace(encoded)
		if place == "" {
			t.pieces = append(t.pieces, encoded)
			return t
		}
		t.pieces = append(t.pieces, encoded[:at])
		t.fills = append(t.fills, place)
		encoded = encoded[at+len(place):]
	}
}

func nextPlace(encoded []byte) (at int, place string) {
	for _, candidate := range []string{manifestNamePlace, ownerPlace, runPlace} {
		if found := bytes.Index(encoded, []byte(candidate)); found >= 0 && (place == "" || found < at) {
			at, place = found, candidate
		}
	}
	return at, place
}

// fill returns the object for one Manifest.
func (t template) fill(owner owner) []byte {
	filled := make([]byte, 0, t.size()+int64(len(t.fills)*len(owner.mark)))
	for i, piece := range t.pieces {
		filled = append(filled, piece...)
		if i < len(t.fills) {
			filled = append(filled, owner.at(t.fills[i])...)
		}
	}
	return filled
}

func (t template) size() int64 {
	total := 0
	for _, piece := range t.pieces {
		total += len(piece)
	}
	return int64(total)
}

// bundleOf returns the bundle of a recipe, made once and kept.
func (a *Activities) bundleOf(ctx context.Context, recipe *artifacts.Recipe, by adaptation) (*bundle, error) {
	return a.bundles.Get(ctx, recipe.Key+by.key(), func(ctx context.Context) (*bundle, int64, error) {
		rendered, err := recipe.Render(ctx)
		if err != nil {
			return nil, 0, err
		}
		return build(rendered, by)
	})
}
