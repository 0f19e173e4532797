package remote

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// GroupVersionKind is the type of the API machinery.
type GroupVersionKind = schema.GroupVersionKind

// Kind returns a kind of our own API in its stored version.
func Kind(kind string) GroupVersionKind { return v1beta2.GroupVersion.WithKind(kind) }

// ListMetadata lists objects without their bodies.
func ListMetadata(ctx context.Context, reader client.Reader, gvk GroupVersionKind, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %ss: %w", gvk.Kind, err)
	}
	for i := range list.Items {
		// The server only says that the items are metadata.
		list.Items[i].SetGroupVersionKind(gvk)
	}
	return list.Items, nil
}

// KindMissing reports whether an error means that the cluster does not serve the kind at all. A missing object of a
// served kind is another error.
func KindMissing(err error) bool { return meta.IsNoMatchError(err) || kinds.IsUnserved(err) }

// MetadataOf returns an empty object for reading the metadata of a kind.
func MetadataOf(gvk GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}

// KymaOfMark parses a mark `<namespace>/<name>`.
func KymaOfMark(mark string) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(mark, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok && namespace != "" && name != ""
}
