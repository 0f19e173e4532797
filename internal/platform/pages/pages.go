// Package pages lists the metadata of many objects page by page, so that a large fleet needs little memory.
package pages

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metadata calls visit for each object of a kind, until visit returns false. Each request asks for at most size objects. The
// reader must not be a cache: caches do not know pages.
func Metadata(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, size int64, visit func(*metav1.PartialObjectMetadata) bool, options ...client.ListOption) error {
	kind.Kind += "List"
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind)
		if err := reader.List(ctx, page, append(options[:len(options):len(options)], client.Limit(size), client.Continue(next))...); err != nil {
			return err
		}
		for i := range page.Items {
			if !visit(&page.Items[i]) {
				return nil
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}
