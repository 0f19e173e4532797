package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// All lists the metadata of every object of every kind in a cluster, but for what a cluster makes by itself.
func (c Cluster) All(t testing.TB) []metav1.PartialObjectMetadata {
	t.Helper()
	return c.list(t, c.kinds(t))
}

// kinds are the kinds that a cluster serves, but for those whose objects it changes by itself.
func (c Cluster) kinds(t testing.TB) []schema.GroupVersionKind {
	t.Helper()
	found, err := discovery.NewDiscoveryClientForConfig(AdminConfig(t, c.Kubeconfig))
	require.NoError(t, err)
	lists, err := found.ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) {
		require.NoError(t, err)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && !changesByItself(version.Group, resource.Kind) {
				kinds = append(kinds, version.WithKind(resource.Kind))
			}
		}
	}
	return kinds
}

// list lists the metadata of all objects of these kinds. It skips a kind that is no longer served.
func (c Cluster) list(t testing.TB, kinds []schema.GroupVersionKind) []metav1.PartialObjectMetadata {
	t.Helper()
	var objects []metav1.PartialObjectMetadata
	for _, kind := range kinds {
		items := &metav1.PartialObjectMetadataList{}
		items.SetGroupVersionKind(kind)
		err := c.List(context.Background(), items)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err) {
			continue
		}
		require.NoError(t, err, "list %s", kind.Kind)
		objects = append(objects, items.Items...)
	}
	return objects
}

// changesByItself reports whether objects of a kind change without any request of ours or of the test.
func changesByItself(group, kind string) bool {
	return kind == "Event" || kind == "Lease" || kind == "Node" || kind == "ComponentStatus" || strings.HasPrefix(group, "metrics")
}

// IsInstalled reports whether an object has the annotation of its Manifest, and is no copy with it, as a ReplicaSet has the
// annotations of its Deployment.
func IsInstalled(object client.Object) bool {
	return object.GetAnnotations()[shared.AnnotationOwnedBy] != "" && metav1.GetControllerOf(object) == nil
}

// Shapes are the objects of modules in a cluster without what differs from one installation to the next.
func Shapes(objects []metav1.PartialObjectMetadata) map[string]string {
	found := map[string]string{}
	for _, obj := range objects {
		if IsInstalled(&obj) {
			found[obj.Kind+" "+obj.Namespace+"/"+obj.Name] = obj.Annotations[shared.AnnotationAppliedDigest]
		}
	}
	return found
}

// AtRest returns the versions of everything in a cluster after nothing was written for two seconds. Controllers
// may still work on a module at the moment when it becomes Ready.
func (c Cluster) AtRest(t testing.TB) map[string]string {
	t.Helper()
	kinds := c.kinds(t)
	before, since := c.versions(t, kinds), time.Now()
	for began := time.Now(); time.Since(since) < 2*time.Second; {
		time.Sleep(time.Second)
		now := c.versions(t, kinds)
		different := Differences(before, now)
		if len(different) > 0 { // a new CustomResourceDefinition among them, perhaps
			kinds = c.kinds(t)
			before, since = c.versions(t, kinds), time.Now()
		}
		require.Less(t, time.Since(began), time.Minute, "the cluster does not become quiet: %v", different)
	}
	return before
}

// Versions returns the resource versions of everything in a cluster. Equal versions mean that nothing was written.
func (c Cluster) Versions(t testing.TB) map[string]string {
	t.Helper()
	return c.versions(t, c.kinds(t))
}

func (c Cluster) versions(t testing.TB, kinds []schema.GroupVersionKind) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, obj := range c.list(t, kinds) {
		versions[obj.GroupVersionKind().String()+" "+obj.Namespace+"/"+obj.Name] = obj.ResourceVersion
	}
	require.NotEmpty(t, versions)
	return versions
}

// Differences names what differs between two readings of a cluster.
func Differences(before, after map[string]string) []string {
	var different []string
	for name, version := range before {
		if after[name] != version {
			different = append(different, fmt.Sprintf("%s: %s -> %s", name, version, after[name]))
		}
	}
	for name := range maps.Keys(after) {
		if _, existed := before[name]; !existed {
			different = append(different, name+" is new")
		}
	}
	slices.Sort(different)
	return different
}

// ForceDelete deletes an object and removes its finalizers.
func (c Cluster) ForceDelete(object client.Object) {
	released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	_ = c.Delete(context.Background(), object)
	_ = c.Patch(context.Background(), object, released)
}
