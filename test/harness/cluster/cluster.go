// Package cluster has a client for one cluster of a fleet ([Open]), and compares what is in it: [Cluster.All],
// [Cluster.Versions] and [Differences].
package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
)

// Cluster is one of the fleet's clusters as its admin sees it.
type Cluster struct {
	client.Client
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string
	// Access is the path of the kubeconfig of the service account for Lifecycle Manager.
	Access string
}

// Open connects to a cluster of a fleet.
func Open(t testing.TB, at fleets.Cluster) Cluster {
	t.Helper()
	c, err := client.New(AdminConfig(t, at.Kubeconfig), client.Options{Scheme: NewScheme(t)})
	require.NoError(t, err)
	return Cluster{Client: c, Kubeconfig: at.Kubeconfig, Access: at.AccessKubeconfig}
}

// AdminConfig reads a kubeconfig, for a client without rate limits.
func AdminConfig(t testing.TB, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	config.QPS = -1
	return config
}

// NewScheme has the kinds of Kubernetes and our own.
func NewScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	return scheme
}

// InstallDefinitions applies all our definitions to a cluster.
func InstallDefinitions(t testing.TB, c Cluster) {
	t.Helper()
	all, err := crds.All()
	require.NoError(t, err)
	for _, definition := range all {
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err := c.Patch(t.Context(), definition, client.Apply, client.FieldOwner("e2e"), client.ForceOwnership) //nolint:staticcheck // a typed object
		require.NoError(t, err)
	}
	// They are served one after the other.
	for _, list := range []client.ObjectList{
		&v1beta2.KymaList{}, &v1beta2.ManifestList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}, &v1beta2.WatcherList{},
		&v1beta2.RolloutPolicyList{}, &v1beta2.ModuleRolloutList{}, &v1beta2.RemovalBudgetList{}, &v1beta2.RemoteAgentList{},
	} {
		require.Eventually(t, func() bool { return c.List(t.Context(), list) == nil }, time.Minute, 100*time.Millisecond, "%T is not served", list)
	}
}
