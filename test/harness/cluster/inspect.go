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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// All lists every object of every kind in a cluster, but for what a cluster makes by itself.
func (c Cluster) All(t testing.TB) []unstructured.Unstructured {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	require.NoError(t, err)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	lists, err := found.ServerPreferredResources()
	if !discovery.IsGroupDiscoveryFailedError(err) {
		require.NoError(t, err)
	}
	var objects []unstructured.Unstructured
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || changesByItself(version.Group, resource.Kind) {
				continue
			}
			items := &unstructured.UnstructuredList{}
			items.SetGroupVersionKind(version.WithKind(resource.Kind))
			err := c.List(context.Background(), items)
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err) {
				continue
			}
			require.NoError(t, err, "list %s", resource.Kind)
			objects = append(objects, items.Items...)
		}
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
func Shapes(objects []unstructured.Unstructured) map[string]string {
	found := map[string]string{}
	for _, obj := range objects {
		if IsInstalled(&obj) {
			found[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj.GetAnnotations()[shared.AnnotationAppliedDigest]
		}
	}
	return found
}

// AtRest are the versions of everything in a cluster as soon as nothing was written for two seconds: controllers
// are not done with a module at the moment that it is Ready.
func (c Cluster) AtRest(t *testing.T) map[string]string {
	t.Helper()
	before, since := c.Versions(t), time.Now()
	for began := time.Now(); time.Since(since) < 2*time.Second; time.Sleep(200 * time.Millisecond) {
		now := c.Versions(t)
		different := Differences(before, now)
		if len(different) > 0 {
			before, since = now, time.Now()
		}
		require.Less(t, time.Since(began), time.Minute, "the cluster does not become quiet: %v", different)
	}
	return before
}

// Versions are the resource versions of everything in a cluster: equal before and after means that nothing was written.
func (c Cluster) Versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, obj := range c.All(t) {
		versions[obj.GroupVersionKind().String()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj.GetResourceVersion()
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
