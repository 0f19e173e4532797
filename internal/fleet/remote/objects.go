package remote

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// DeleteObject deletes an object, with its uid as precondition.
func (r *Cluster) DeleteObject(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	err := r.Delete(ctx, object, client.Preconditions{UID: new(object.UID)})
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("delete %s %s: %w", object.Kind, desired.NameOf(object), err))
	}
	r.Writes++
	return nil
}

// Label adds labels and annotations to an object that was read, and changes nothing else.
func (r *Cluster) Label(ctx context.Context, object client.Object, label, annotate map[string]string) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is not an object of an API server", object)
	}
	object.SetLabels(Merged(object.GetLabels(), label))
	object.SetAnnotations(Merged(object.GetAnnotations(), annotate))
	if err := r.Patch(ctx, object, client.MergeFrom(before), FieldOwner()); err != nil {
		return fmt.Errorf("label %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	r.Writes++
	return nil
}

// HasLabels reports whether all wanted labels exist with their values.
func HasLabels(has, wants map[string]string) bool {
	for key, value := range wants {
		if has[key] != value {
			return false
		}
	}
	return true
}

// Merged returns base with the entries of over. The entries of over win.
func Merged(base, over map[string]string) map[string]string { return labels.Merge(base, over) }
