package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// manifests are the Manifests of a Kyma.
func (s *stage) manifests(kyma *v1beta2.Kyma) []v1beta2.Manifest {
	s.t.Helper()
	var list v1beta2.ManifestList
	require.NoError(s.t, s.controlPlane.List(ctx(s.t), &list, client.InNamespace(kyma.Namespace)))
	return slices.DeleteFunc(list.Items, func(m v1beta2.Manifest) bool { return !metav1.IsControlledBy(&m, kyma) })
}

// isGone tells whether a Kyma is no longer there.
func (s *stage) isGone(kyma *v1beta2.Kyma) bool {
	return apierrors.IsNotFound(s.controlPlane.Get(ctx(s.t), client.ObjectKeyFromObject(kyma), &v1beta2.Kyma{}))
}

// workflowsOf says in which status the workflows of a Kyma and of its Manifests are, by type. Several of one type
// in different statuses show as "mixed".
func (s *stage) workflowsOf(kyma *v1beta2.Kyma) map[string]string {
	s.t.Helper()
	prefix := map[string]string{
		kick.KymaWorkflow:     kick.KymaWorkflowID(kick.RefOf(kyma)),
		kick.ManifestWorkflow: fmt.Sprintf("manifest/%s/%s-", kyma.Namespace, kyma.Name),
	}
	found := map[string]string{}
	for name, id := range prefix {
		page, err := s.temporal.ListWorkflow(ctx(s.t), &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s' AND ExecutionStatus != 'ContinuedAsNew'", name, id),
		})
		if err != nil {
			found[name] = err.Error() // which is in no status, and may be gone at the next look
			continue
		}
		for _, execution := range page.GetExecutions() {
			status := execution.GetStatus().String()
			if old, seen := found[name]; seen && old != status {
				status = "mixed"
			}
			found[name] = status
		}
	}
	return found
}

// all lists every object of every kind in a cluster, but for what a cluster makes by itself.
func (s *stage) all(t testing.TB, c cluster) []unstructured.Unstructured {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
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
			if !slices.Contains(resource.Verbs, "list") || isOwnBusiness(version.Group, resource.Kind) {
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

// isOwnBusiness tells whether objects of a kind change without anybody asking for it.
func isOwnBusiness(group, kind string) bool {
	return kind == "Event" || kind == "Lease" || kind == "Node" || kind == "ComponentStatus" || strings.HasPrefix(group, "metrics")
}

// ofModule names what is in a cluster of what Lifecycle Manager installs for modules, but for what controllers have
// made of that: the garbage collector takes it in its own time.
func (s *stage) ofModule(t *testing.T, c cluster) []string {
	t.Helper()
	var left []string
	for _, obj := range s.all(t, c) {
		if isInstalled(&obj) || obj.GroupVersionKind().Group == sampleGVK.Group {
			left = append(left, obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName())
		}
	}
	return left
}

// isInstalled tells whether an object has the mark of its Manifest, and is no copy with it, as a ReplicaSet has the
// annotations of its Deployment.
func isInstalled(object client.Object) bool {
	return object.GetAnnotations()[shared.AnnotationOwnedBy] != "" && metav1.GetControllerOf(object) == nil
}

// atRest are the versions of everything in a cluster as soon as nobody has written there for two seconds: controllers
// are not done with a module at the moment that it is Ready.
func (s *stage) atRest(t *testing.T, c cluster) map[string]string {
	t.Helper()
	before, since := s.versions(t, c), time.Now()
	for began := time.Now(); time.Since(since) < 2*time.Second; time.Sleep(200 * time.Millisecond) {
		now := s.versions(t, c)
		different := differences(before, now)
		if len(different) > 0 {
			before, since = now, time.Now()
		}
		require.Less(t, time.Since(began), time.Minute, "the cluster does not come to rest: %v", different)
	}
	return before
}

// versions are the resource versions of everything in a cluster: equal before and after means that nobody wrote.
func (s *stage) versions(t *testing.T, c cluster) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, obj := range s.all(t, c) {
		versions[obj.GroupVersionKind().String()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj.GetResourceVersion()
	}
	require.NotEmpty(t, versions)
	return versions
}

// differences names what differs between two readings of a cluster.
func differences(before, after map[string]string) []string {
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
