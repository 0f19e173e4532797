package preflight

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kinds "k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestKindsAreCheckedByVersion(t *testing.T) {
	api := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
	api.Resources = []*metav1.APIResourceList{{GroupVersion: "networking.istio.io/v1", APIResources: []metav1.APIResource{{Name: "gateways", Kind: "Gateway"}}}}
	kind := func(group, version, kind string) NeededKind {
		return NeededKind{GroupVersionKind: kinds.GroupVersionKind{Group: group, Version: version, Kind: kind}}
	}
	served := map[string]bool{}
	for _, facts := range askForKinds([]NeededKind{
		kind("networking.istio.io", "v1", "Gateway"), kind("networking.istio.io", "v1", "VirtualService"), kind("cert-manager.io", "v1", "Certificate"),
	}, api) {
		require.NoError(t, facts.Err)
		served[facts.Kind] = facts.Served
	}
	require.Equal(t, map[string]bool{"Gateway": true, "VirtualService": false, "Certificate": false}, served)
}
