// Package istio gives a cluster of the fleet the kinds of Istio's that Watchers are routed with. There is no Istio behind
// them: what a control plane needs of it is written there, and nobody routes anything.
package istio

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/definitions"
)

// Install creates Istio's own definitions of Gateway and VirtualService, as its module has them, and waits until they are
// served. They stay: other tests may use them at the same time.
func Install(t testing.TB, c client.Client) {
	t.Helper()
	definitions.Install(t, c, definitions.Source{
		Module: "istio.io/api", Files: "kubernetes/customresourcedefinitions.gen.yaml",
		Group: "networking.istio.io", Kinds: []string{"Gateway", "VirtualService"},
	})
}
