package harness

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// Cluster is one of the fleet's clusters as its admin sees it.
type Cluster struct {
	client.Client
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string
	// Access is the path of the kubeconfig of the service account for Lifecycle Manager.
	Access string
}

// openCluster is a cluster of a fleet, ready for requests.
func openCluster(t testing.TB, at FleetCluster) Cluster {
	t.Helper()
	c, err := client.New(adminConfig(t, at.Kubeconfig), client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	return Cluster{Client: c, Kubeconfig: at.Kubeconfig, Access: at.AccessKubeconfig}
}

// adminConfig is that of a kubeconfig, without limits.
func adminConfig(t testing.TB, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	config.QPS = -1
	return config
}

// newScheme has the kinds of Kubernetes and our own.
func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	return scheme
}

// installDefinitions brings all our definitions into a cluster, as they are now.
func installDefinitions(t testing.TB, c Cluster) {
	t.Helper()
	all, err := crds.All()
	require.NoError(t, err)
	for _, definition := range all {
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err := c.Patch(t.Context(), definition, client.Apply, client.FieldOwner("e2e"), client.ForceOwnership) //nolint:staticcheck // a typed object
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return c.List(t.Context(), &v1beta2.KymaList{}) == nil }, time.Minute, 100*time.Millisecond)
}

// Apply applies a stream of YAML documents; objects without a namespace go into the given one.
func (s *Stage) Apply(c Cluster, namespace string, documents []byte) {
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
func (s *Stage) EnsureNamespace(c Cluster, name string) {
	s.T.Helper()
	err := c.Create(s.T.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(s.T, err)
	}
}

// RemoveNamespaces deletes namespaces in a clean-up, and waits until they are gone with all that is in them.
func (s *Stage) RemoveNamespaces(c Cluster, names ...string) {
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
	s.T.Errorf("namespaces are left after the test: %s", names)
}
