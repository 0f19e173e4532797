package harness

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// Apply applies a stream of YAML documents; objects without a namespace go into the given one.
func (s *Environment) Apply(c cluster.Cluster, namespace string, documents []byte) {
	s.T.Helper()
	for _, document := range strings.Split("\n"+string(documents), "\n---") {
		obj := &unstructured.Unstructured{}
		require.NoError(s.T, yaml.Unmarshal([]byte(document), &obj.Object))
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		require.NoError(s.T, c.Apply(s.T.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership))
	}
}

// EnsureNamespace creates a namespace where it is not there yet.
func (s *Environment) EnsureNamespace(c cluster.Cluster, name string) {
	s.T.Helper()
	// Instances are started in clean-ups too, when the test's context is done.
	err := c.Create(context.WithoutCancel(s.T.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(s.T, err)
	}
}

// RemoveNamespaces deletes namespaces in a clean-up, and waits until they are gone with all that is in them.
func (s *Environment) RemoveNamespaces(c cluster.Cluster, names ...string) {
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for bounded.Err() == nil {
		names = slices.DeleteFunc(names, func(name string) bool {
			return apierrors.IsNotFound(c.Delete(bounded, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		})
		if len(names) == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.T.Errorf("namespaces remain after the test: %s", names)
}

// OfModule names what is in a cluster of what Lifecycle Manager installs for modules, but for what controllers have
// made of that: the garbage collector deletes that asynchronously.
func (s *Environment) OfModule(t *testing.T, c cluster.Cluster) []string {
	t.Helper()
	var found []string
	for _, obj := range c.All(t) {
		if cluster.IsInstalled(&obj) || obj.GroupVersionKind().Group == SampleGVK.Group {
			found = append(found, obj.Kind+" "+obj.Namespace+"/"+obj.GetName())
		}
	}
	return found
}
