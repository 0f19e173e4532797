package inventory

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Owner is what tells a Manifest's objects from those of others.
type Owner struct {
	// name is the value of the label app.kubernetes.io/component.
	Name string
	// mark is the value of the annotation owned-by: namespace/name.
	Mark string
	// run names what its hooks run for, see runOf.
	Run string
	// formers are the marks of Manifests whose objects this one took over (see sharing.go).
	formers []string
}

func OwnerOf(m *v1beta2.Manifest) Owner {
	return Owner{Name: m.Name, Mark: MarkOf(m), Run: runOf(m), formers: m.Status.TakenOverFrom}
}

// MarkOf is the mark on the objects of a Manifest: namespace/name.
func MarkOf(m *v1beta2.Manifest) string { return m.Namespace + "/" + m.Name }

// At is what fills a place in an encoded object.
func (o Owner) At(place string) string {
	switch place {
	case ManifestNamePlace:
		return o.Name
	case RunPlace:
		return o.Run
	default:
		return o.Mark
	}
}

// Owns tells whether a live object carries our mark. Only such an object is ours to remove.
func (o Owner) Owns(live metav1.Object) bool {
	mark := live.GetAnnotations()[shared.AnnotationOwnedBy]
	return mark == o.Mark || mark != "" && slices.Contains(o.formers, mark)
}

// Selector finds our objects by label. An object that lost its label is found only by its name.
func (o Owner) Selector() string {
	return shared.LabelManagedBy + "=" + shared.ManagedByKyma + "," + shared.LabelComponent + "=" + o.Name
}

// Places in an encoded object that are filled for each Manifest. What fills them needs no JSON escapes:
// all are names of Kubernetes objects, or hexadecimal.
const (
	ManifestNamePlace = "@@lifecycle-manager-manifest-name@@"
	OwnerPlace        = "@@lifecycle-manager-owner@@"
	RunPlace          = "@@lifecycle-manager-run@@"
)

// LayersRef identifies the layers that a Manifest installs.
func LayersRef(m *v1beta2.Manifest) string {
	ref := m.Spec.Install.Source.Ref
	if m.Spec.Config != nil {
		ref += "+" + m.Spec.Config.Ref
	}
	return ref
}

// NamespaceManager is the field manager for namespaces that were there before the module.
func (o Owner) NamespaceManager() string { return shared.FieldManagerModuleResources + "/" + o.Name }
