package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// LiveObject is one object as read from a cluster.
type LiveObject struct {
	ID   string
	GVK  schema.GroupVersionKind
	Meta *metav1.PartialObjectMetadata
	// Full is the whole object without its managed fields; nil if only the metadata was read.
	Full *unstructured.Unstructured
}

// String returns the object's name for messages.
func (s LiveObject) String() string {
	return Describe(s.GVK.Kind, types.NamespacedName{Namespace: s.Meta.Namespace, Name: s.Meta.Name})
}

// Surveyor reads the objects of a cluster with certain labels, with one paged LIST per kind.
type Surveyor struct {
	Target
	Selector string
	// InFull reports whether objects of a kind are read in full, not only their metadata.
	InFull func(schema.GroupKind) bool
}

// Survey is what a Surveyor read.
type Survey struct {
	// Seen holds the objects by inventory id.
	Seen map[string]LiveObject
	// Failed holds the errors of kinds that could not be read.
	Failed map[schema.GroupKind]error
}

// Read reads all objects of the wanted kinds. A kind that the cluster does not serve has no objects. Read returns an
// error only if the whole pass has to end (EndsPass). Errors of single kinds are in the survey.
func (s *Surveyor) Read(ctx context.Context, wanted map[schema.GroupKind]schema.GroupVersionKind) (Survey, error) {
	var mu sync.Mutex
	all := Survey{Seen: map[string]LiveObject{}, Failed: map[schema.GroupKind]error{}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(ParallelLists)
	for kind, gvk := range wanted {
		group.Go(func() error {
			found, err := s.list(ctx, gvk)
			if err != nil && EndsPass(ctx, err) {
				return clusters.Classify(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.Failed[kind] = clusters.Classify(err)
				return nil
			}
			maps.Copy(all.Seen, found)
			return nil
		})
	}
	return all, group.Wait()
}

func (s *Surveyor) list(ctx context.Context, gvk schema.GroupVersionKind) (map[string]LiveObject, error) {
	resource, err := s.Mapper.Resource(ctx, gvk)
	if err != nil {
		return nil, kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", gvk.Kind, err))
	}
	page := s.page
	if s.InFull(gvk.GroupKind()) {
		page = s.fullPage
	}
	found := map[string]LiveObject{}
	err = Pages(metav1.ListOptions{LabelSelector: s.Selector}, func(options metav1.ListOptions) (string, error) {
		all, next, err := page(ctx, resource.GroupVersionResource, options)
		if err != nil {
			return "", err
		}
		for _, o := range all {
			o.GVK = gvk
			if o.Full != nil {
				o.Full.SetGroupVersionKind(gvk)
			}
			name := types.NamespacedName{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
			if o.ID, err = v1beta2.InventoryID(gvk.GroupKind(), name); err != nil {
				return "", err
			}
			found[o.ID] = o
		}
		return next, nil
	})
	if err != nil && IgnoreUnserved(err) == nil {
		s.Cluster.Mapper.Forget(gvk)
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	return found, nil
}

// page reads the metadata of one page of objects in protobuf encoding.
func (s *Surveyor) page(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) ([]LiveObject, string, error) {
	page, err := s.Cluster.Metadata.Resource(resource).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	objects := make([]LiveObject, len(page.Items))
	for i := range page.Items {
		objects[i].Meta = &page.Items[i]
	}
	return objects, page.Continue, nil
}

// fullPage reads one page of objects in full. It decodes each object twice: into maps, to judge the object's health,
// and into its metadata, in which the managed fields keep the bytes that are hashed.
func (s *Surveyor) fullPage(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) ([]LiveObject, string, error) {
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	raw, err := s.Cluster.Discovery.RESTClient().Get().AbsPath(path, resource.Version, resource.Resource).
		Param("labelSelector", options.LabelSelector).Param("limit", strconv.FormatInt(options.Limit, 10)).Param("continue", options.Continue).
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("the answer is not the expected JSON: %w", err)
	}
	objects := make([]LiveObject, len(page.Items))
	for i, item := range page.Items {
		objects[i].Meta = &metav1.PartialObjectMetadata{}
		objects[i].Full = &unstructured.Unstructured{}
		if err := json.Unmarshal(item, objects[i].Meta); err != nil {
			return nil, "", fmt.Errorf("the answer is not the expected JSON: %w", err)
		}
		if err := utiljson.Unmarshal(item, &objects[i].Full.Object); err != nil {
			return nil, "", fmt.Errorf("the answer is not the expected JSON: %w", err)
		}
		objects[i].Full.SetManagedFields(nil)
	}
	return objects, page.Metadata.Continue, nil
}

// ReadInFull reports whether objects of a kind are read in full, because their health matters. Definitions are not:
// they are very large, and known to be established since they were applied.
func ReadInFull(kind schema.GroupKind) bool {
	return kinds.HealthMatters(kind) && !kinds.ExistenceOnly(schema.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
}

// NothingInFull returns false for all kinds, for a caller that only compares.
func NothingInFull(schema.GroupKind) bool { return false }

// Body returns the object to judge its health. If only the metadata was read, it has only the name and the deletion
// time.
func (s LiveObject) Body() *unstructured.Unstructured {
	if s.Full != nil {
		return s.Full
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.GVK)
	u.SetName(s.Meta.Name)
	u.SetDeletionTimestamp(s.Meta.DeletionTimestamp)
	return u
}
