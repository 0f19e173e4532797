package install

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// owner is what tells a Manifest's objects from those of others.
type owner struct {
	// name is the value of the label app.kubernetes.io/component.
	name string
	// mark is the value of the annotation owned-by: namespace/name.
	mark string
	// run names what its hooks run for, see runOf.
	run string
	// formers are the marks of Manifests whose objects this one took over (see sharing.go).
	formers []string
}

func ownerOf(m *v1beta2.Manifest) owner {
	return owner{name: m.Name, mark: markOf(m), run: runOf(m), formers: m.Status.TakenOverFrom}
}

// markOf is the mark on the objects of a Manifest: namespace/name.
func markOf(m *v1beta2.Manifest) string { return m.Namespace + "/" + m.Name }

// at is what fills a place in an encoded object.
func (o owner) at(place string) string {
	switch place {
	case manifestNamePlace:
		return o.name
	case runPlace:
		return o.run
	default:
		return o.mark
	}
}

// owns tells whether a live object carries our mark. Only such an object is ours to remove.
func (o owner) owns(live metav1.Object) bool {
	mark := live.GetAnnotations()[shared.AnnotationOwnedBy]
	return mark == o.mark || mark != "" && slices.Contains(o.formers, mark)
}

// selector finds our objects by label. An object that lost its label is found only by its name.
func (o owner) selector() string {
	return shared.LabelManagedBy + "=" + shared.ManagedByKyma + "," + shared.LabelComponent + "=" + o.name
}
