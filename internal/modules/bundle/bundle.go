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

// Bundle holds the objects of a module's layers, encoded once and shared by all clusters that install the module. A
// Bundle is immutable.
type Bundle struct {
	// Objects are sorted by stage. Within a stage they keep the order of the source.
	Objects []Object
	// Definitions are the kinds that the module itself defines.
	Definitions map[schema.GroupKind]kinds.Definition
	// LeftOut names a chart's tests and its hooks that never run.
	LeftOut []string
	// hooks are the chart's hooks in the order in which they run.
	hooks []hook
}

// Object is one object of a bundle.
type Object struct {
	GVK schema.GroupVersionKind
	// namespace is as in the source; empty if the source names none.
	namespace, name string
	Stage           kinds.Stage
	// Optional objects are skipped if the cluster does not serve their kind.
	Optional bool
	// AsksForData is true for a Secret that gets the data of a Secret in the control plane, if the plan permits that.
	AsksForData bool
	// Replaceable objects are deleted and created again if they cannot be changed.
	Replaceable bool
	// Digest is the digest of the rendered object. The applied object carries it as an annotation.
	Digest string
	// Versions are the versions of a definition, served or not.
	Versions []string
	// Body is the object as it is applied, without its namespace. The namespace is in the URL of the request.
	Body template
	// Unowned is the body without the mark that makes the object this module's. Only namespaces have it.
	Unowned template
	// refused is why no module may install an object with these labels; empty if modules may.
	refused string
}

// Build turns rendered objects into a bundle, with an adaptation that many Manifests share. It also returns the size
// of the bundle in bytes. Build changes the rendered objects.
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

// encode encodes an object as it is applied: without the fields that only a server sets, and with the labels and
// annotations of docs/contract.md#labels.
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

// Clean removes the fields that only a server may set, and the namespace, which is in the URL of the request. Clean
// also removes owner references: the owner's uid is from another cluster, so Kubernetes would delete the object at
// once. Finalizers stay, because the module's author may rely on them.
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

// mark adds the labels and annotations that identify the object as ours.
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

// unmark removes the marks of this module. The object remains marked as an object of some module.
func unmark(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathLabels, shared.LabelComponent)
	for _, annotation := range []string{shared.AnnotationOwnedBy, shared.AnnotationDisclaimer, shared.AnnotationAppliedDigest} {
		unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathAnnotations, annotation)
	}
}

// template is an encoded object with placeholders for the parts that differ per Manifest.
type template struct {
	// pieces are the texts between the placeholders.
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

// nextPlaceholder returns the first placeholder and its position; "" if there is none.
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

// text returns the encoded object with its placeholders.
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

// Adapted returns the rendered objects as Build uses them before it encodes them: with the adaptation and without
// fields that others own. Adapted changes the rendered objects.
func Adapted(rendered *render.Rendered, by Adaptation) ([]*unstructured.Unstructured, error) {
	dropIgnored(rendered.Objects)
	if err := by.adapt(rendered.Objects); err != nil {
		return nil, err
	}
	return rendered.Objects, nil
}
