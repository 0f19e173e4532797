package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Bundle is the objects of a module's layers, encoded once and shared by all clusters that install it. It is never
// changed.
type Bundle struct {
	// Objects by stage, and within it in the order of the source.
	Objects []Object
	// Definitions are the kinds that the module itself defines.
	Definitions map[schema.GroupKind]kinds.Definition
	// LeftOut are the tests of a chart, and its hooks that are never run.
	LeftOut []string
	// hooks of a chart, in the order in which they run.
	hooks []hook
}

// Object is one object of a bundle.
type Object struct {
	GVK schema.GroupVersionKind
	// namespace as in the source; empty where it names none.
	namespace, name string
	Stage           kinds.Stage
	// Optional objects are skipped where the cluster does not know their kind.
	Optional bool
	// AsksForData is true for a Secret whose data is to be that of a Secret in the control plane, if its module may have it.
	AsksForData bool
	// Replaceable objects are deleted and created again if they cannot be changed.
	Replaceable bool
	// Digest is that of the object as rendered, which it carries as an annotation.
	Digest string
	// Versions are those of a definition, whether served or not.
	Versions []string
	// Body is the object as it is applied, without its namespace, which is in the URL of the request.
	Body template
	// Unowned is the body without what marks the object as this module's; only namespaces have it.
	Unowned template
	// refused says why no module may install an object with these labels.
	refused string
}

// Build turns rendered objects into a bundle, with an adaptation that many Manifests share. It returns the size of the
// bundle in bytes, too. The rendered objects are changed.
func Build(rendered *render.Rendered, by Adaptation) (*Bundle, int64, error) {
	b := &Bundle{Definitions: map[schema.GroupKind]kinds.Definition{}, LeftOut: rendered.LeftOut}
	dropIgnored(rendered.Objects)
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
		if u.GroupVersionKind().GroupKind() == kinds.DefinitionKind() {
			kind, d, ok := kinds.ReadDefinition(u)
			if ok && reserved.Object(kinds.DefinitionKind(), types.NamespacedName{Name: u.GetName()}) == "" {
				b.Definitions[kind] = d
			}
		}
		o, err := encode(u)
		if err != nil {
			return nil, 0, err
		}
		b.Objects = append(b.Objects, o)
		size += o.Body.size() + o.Unowned.size()
	}
	slices.SortStableFunc(b.Objects, func(x, y Object) int { return cmp.Compare(x.Stage, y.Stage) })
	return b, size, nil
}

// encode encodes an object as it is applied: without the fields that only a server sets, with the labels and annotations
// of docs/contract.md#labels.
func encode(u *unstructured.Unstructured) (Object, error) {
	o := Object{GVK: u.GroupVersionKind(), namespace: u.GetNamespace(), name: u.GetName()}
	o.Stage = kinds.StageOf(o.GVK.GroupKind())
	o.Optional = u.GetAnnotations()[shared.AnnotationOptional] == shared.ValueTrue
	o.AsksForData = asksForData(o.GVK.GroupKind(), u.GetAnnotations())
	o.Replaceable = isReplaceable(o.GVK.GroupKind(), u)
	o.refused = reserved.Marks(o.GVK.GroupKind(), o.name, u.GetLabels())
	Clean(u)

	canonical, err := json.Marshal(u.Object)
	if err != nil {
		return o, fmt.Errorf("encode %s %s: %w", o.GVK.Kind, o.name, err)
	}
	sum := sha256.Sum256(canonical)
	o.Digest = hex.EncodeToString(sum[:16])
	if kinds.ExistenceOnly(o.GVK) {
		o.Versions = kinds.DefinitionVersions(u)
	}
	mark(u, o.Digest)
	marked, err := json.Marshal(u.Object)
	if err != nil {
		return o, fmt.Errorf("encode %s %s: %w", o.GVK.Kind, o.name, err)
	}
	o.Body = newTemplate(marked)
	if o.Stage == kinds.StageNamespaces {
		unmark(u)
		unowned, err := json.Marshal(u.Object)
		if err != nil {
			return o, fmt.Errorf("encode %s %s: %w", o.GVK.Kind, o.name, err)
		}
		o.Unowned = newTemplate(unowned)
	}
	return o, nil
}

// Clean removes what only a server may set, and the namespace, which is in the URL of the request. Owner references go as
// well: the owner's uid is of another cluster, so that Kubernetes would delete the object at once. Finalizers stay: whoever
// ships an object may want it to be released by somebody.
func Clean(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, kinds.PathStatus)
	for _, field := range []string{
		"namespace", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
		"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
	} {
		unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, field)
	}
	unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathAnnotations, "kubectl.kubernetes.io/last-applied-configuration")
}

// mark adds the labels and annotations by which the object is known to be ours.
func mark(u *unstructured.Unstructured, digest string) {
	u.SetLabels(labels.Merge(u.GetLabels(), map[string]string{
		shared.LabelManagedBy: shared.ManagedByKyma, shared.LabelComponent: inventory.ManifestNamePlaceholder, shared.LabelPartOf: shared.PartOfKyma,
	}))
	u.SetAnnotations(labels.Merge(u.GetAnnotations(), map[string]string{
		shared.AnnotationDisclaimer:    shared.DisclaimerText,
		shared.AnnotationOwnedBy:       inventory.OwnerPlaceholder,
		shared.AnnotationAppliedDigest: digest,
	}))
}

// unmark removes what says that the object belongs to this module, and keeps that it belongs to a module.
func unmark(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathLabels, shared.LabelComponent)
	for _, annotation := range []string{shared.AnnotationOwnedBy, shared.AnnotationDisclaimer, shared.AnnotationAppliedDigest} {
		unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathAnnotations, annotation)
	}
}

// template is an encoded object with placeholders for what differs per Manifest.
type template struct {
	// pieces are the text between the placeholders.
	pieces       [][]byte
	placeholders []string
}

func newTemplate(encoded []byte) template {
	var t template
	for {
		at, placeholder := nextPlaceholder(encoded)
		if placeholder == "" {
			t.pieces = append(t.pieces, encoded)
			return t
		}
		t.pieces = append(t.pieces, encoded[:at])
		t.placeholders = append(t.placeholders, placeholder)
		encoded = encoded[at+len(placeholder):]
	}
}

// nextPlaceholder returns the first placeholder and its position; "" where there is none.
func nextPlaceholder(encoded []byte) (at int, placeholder string) {
	for _, candidate := range []string{inventory.ManifestNamePlaceholder, inventory.OwnerPlaceholder, inventory.RunPlaceholder} {
		if found := bytes.Index(encoded, []byte(candidate)); found >= 0 && (placeholder == "" || found < at) {
			at, placeholder = found, candidate
		}
	}
	return at, placeholder
}

// Fill returns the object for one Manifest.
func (t template) Fill(owner inventory.Owner) []byte {
	filled := make([]byte, 0, t.size()+int64(len(t.placeholders)*len(owner.Mark)))
	for i, piece := range t.pieces {
		filled = append(filled, piece...)
		if i < len(t.placeholders) {
			filled = append(filled, owner.At(t.placeholders[i])...)
		}
	}
	return filled
}

// text is the encoded object with its placeholders.
func (t template) text() []byte {
	var text []byte
	for i, piece := range t.pieces {
		text = append(text, piece...)
		if i < len(t.placeholders) {
			text = append(text, t.placeholders[i]...)
		}
	}
	return text
}

func (t template) size() int64 {
	total := 0
	for _, piece := range t.pieces {
		total += len(piece)
	}
	return int64(total)
}

// Adapted returns the rendered objects as Build takes them into a bundle, before it encodes them: without the fields that
// others own, and with the adaptation. The rendered objects are changed.
func Adapted(rendered *render.Rendered, by Adaptation) ([]*unstructured.Unstructured, error) {
	dropIgnored(rendered.Objects)
	if err := by.adapt(rendered.Objects); err != nil {
		return nil, err
	}
	return rendered.Objects, nil
}
