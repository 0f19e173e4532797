package objects

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// KindDefinedBy returns the kind that a CustomResourceDefinition defines, from its name: <plural>.<group>. It
// confirms that a kind is missing; see clusters.Mapper.Confirmed.
func KindDefinedBy(ctx context.Context, c *clusters.Cluster, name string) (schema.GroupVersionKind, error) {
	return c.Mapper.Confirmed().Kind(ctx, kinds.ResourceOfDefinition(name))
}

// MetadataOf calls show with the metadata of each object of a kind that matches a selector, with one request per
// page.
func MetadataOf(
	ctx context.Context, c *clusters.Cluster, resource kinds.Resource, selector string, show func(*metav1.PartialObjectMetadata),
) error {
	err := Pages(metav1.ListOptions{LabelSelector: selector}, func(options metav1.ListOptions) (string, error) {
		page, err := c.Metadata.Resource(resource.GroupVersionResource).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			show(&page.Items[i])
		}
		return page.Continue, nil
	})
	if err = IgnoreUnserved(err); err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	return nil
}

// Pages reads a LIST page by page. Each read returns the token of the next page; empty after the last page. If a page
// is too large to be read (clusters.ErrResponseTooLarge), Pages requests it again with half as many objects.
func Pages(options metav1.ListOptions, read func(metav1.ListOptions) (next string, err error)) error {
	for options.Limit = pageSize; ; {
		next, err := read(options)
		if smaller, again := smallerPage(options.Limit, err); again {
			options.Limit = smaller
			continue
		}
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

const (
	// ParallelLists is how many kinds are listed concurrently in one cluster.
	ParallelLists = 4
	// pageSize is the maximum number of objects in a page.
	pageSize = 500
)

// smallerPage returns the limit for the next request of a page that was too large to be read, and whether to request
// it again. A page of one object is not requested again.
func smallerPage(limit int64, err error) (int64, bool) {
	return limit / 2, limit > 1 && errors.Is(err, clusters.ErrResponseTooLarge)
}

// IgnoreUnserved returns nil for the error of a kind that the server does not serve, because there are no such
// objects.
func IgnoreUnserved(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
