package install

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// sighting is one object as it was read in a cluster.
type sighting struct {
	id   string
	gvk  schema.GroupVersionKind
	meta *metav1.PartialObjectMetadata
	// full is the whole object, without its managed fields, of a kind that was read in full; else nil.
	full *unstructured.Unstructured
}

func (s sighting) String() string {
	return describe(s.gvk.Kind, types.NamespacedName{Namespace: s.meta.Namespace, Name: s.meta.Name})
}

// surveyor reads which objects of a cluster carry certain labels, with one paged LIST per kind.
type surveyor struct {
	cluster  *clusters.Cluster
	kinds    kinds
	selector string
	// inFull tells of which kinds more than the metadata is read.
	inFull func(schema.GroupKind) bool
}

// survey is what a surveyor saw.
type survey struct {
	// seen are the objects by inventory id.
	seen map[string]sighting
	// failed are the kinds that could not be read.
	failed map[schema.GroupKind]error
}

// look reads all objects of these kinds. A kind that the cluster does not serve has none. The error is for what
// ends the whole pass; that single kinds cannot be read is in the survey.
func (s *surveyor) look(ctx context.Context, wanted map[schema.GroupKind]schema.GroupVersionKind) (survey, error) {
	var mu sync.Mutex
	all := survey{seen: map[string]sighting{}, failed: map[schema.GroupKind]error{}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for kind, gvk := range wanted {
		group.Go(func() error {
			found, err := s.list(ctx, gvk)
			if err != nil && endsPass(ctx, err) {
				return clusters.Classify(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.failed[kind] = clusters.Classify(err)
				return nil
			}
			maps.Copy(all.seen, found)
			return nil
		})
	}
	return all, group.Wait()
}

func (s *surveyor) list(ctx context.Context, gvk schema.GroupVersionKind) (map[string]sighting, error) {
	resource, err := s.kinds.resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
	}
	page := s.page
	if s.inFull(gvk.GroupKind()) {
		page = s.fullPage
	}
	found := map[string]sighting{}
	limit := int64(pageSize)
	for next := ""; ; {
		objects, more, err := page(ctx, resource.GroupVersionResource, limit, next)
		if smaller, again := smallerPage(limit, err); again {
			limit = smaller
			continue
		}
		if err != nil {
			if ignoreUnserved(err) == nil {
				s.cluster.Mapper.Forget(gvk)
				return found, nil
			}
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, o := range objects {
			o.gvk = gvk
			if o.full != nil {
				o.full.SetGroupVersionKind(gvk)
			}
			if o.id, err = v1beta2.InventoryID(gvk.GroupKind(), types.NamespacedName{Namespace: o.meta.Namespace, Name: o.meta.Name}); err != nil {
				return nil, err
			}
			found[o.id] = o
		}
		if next = more; next == "" {
			return found, nil
		}
	}
}

// page reads the metadata of one page of objects, in the protobuf encoding.
func (s *surveyor) page(ctx context.Context, resource schema.GroupVersionResource, limit int64, next string) ([]sighting, string, error) {
	page, err := s.cluster.Metadata.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: s.selector, Limit: limit, Continue: next})
	if err != nil {
		return nil, "", err
	}
	objects := make([]sighting, len(page.Items))
	for i := range page.Items {
		objects[i].meta = &page.Items[i]
	}
	return objects, page.Continue, nil
}

// fullPage reads one page of objects in full. Each is decoded twice: into maps for those who judge its health, and
// into its metadata, in which the managed fields keep the very bytes that their hash is taken of.
func (s *surveyor) fullPage(ctx context.Context, resource schema.GroupVersionResource, limit int64, next string) ([]sighting, string, error) {
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	raw, err := s.cluster.Discovery.RESTClient().Get().AbsPath(path, resource.Version, resource.Resource).
		Param("labelSelector", s.selector).Param("limit", strconv.FormatInt(limit, 10)).Param("continue", next).
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
	objects := make([]sighting, len(page.Items))
	for i, item := range page.Items {
		objects[i].meta = &metav1.PartialObjectMetadata{}
		objects[i].full = &unstructured.Unstructured{}
		if err := json.Unmarshal(item, objects[i].meta); err != nil {
			return nil, "", fmt.Errorf("the answer is not the expected JSON: %w", err)
		}
		if err := utiljson.Unmarshal(item, &objects[i].full.Object); err != nil {
			return nil, "", fmt.Errorf("the answer is not the expected JSON: %w", err)
		}
		objects[i].full.SetManagedFields(nil)
	}
	return objects, page.Metadata.Continue, nil
}

// readInFull tells of which kinds a survey reads more than the metadata: those whose health matters. Definitions
// are very large and known to be established since they were applied.
func readInFull(kind schema.GroupKind) bool {
	return healthMatters(kind) && !onlyExistence(schema.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
}

// nothingInFull is for those who only compare.
func nothingInFull(schema.GroupKind) bool { return false }
