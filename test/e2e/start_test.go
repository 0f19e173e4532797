package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"

	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// assertDoesNotStart requires that a process which could only fail later refuses to start, and says what to do about it. The
// environment's instance runs at the beginning, and not at the end.
func assertDoesNotStart(t *testing.T, s *harness.Environment) {
	t.Helper()
	second := *s
	second.Instance = second.NewInstance("--managed-by", "second")
	t.Run("another instance in the same Temporal namespace", func(t *testing.T) {
		doesNotStart(t, second.Instance, "belongs to another instance", "lifecycle-manager of the control plane", "TEMPORAL_NAMESPACE")
	})
	t.Run("another release of the same name in another namespace of the control plane", func(t *testing.T) {
		elsewhere := s.NewInstance("--leader-election-namespace", "kube-public")
		elsewhere.AllNamespaces = true // it is refused for its name, not for its rights
		doesNotStart(t, elsewhere, "belongs to another instance", "in its namespace "+harness.ControlPlaneNamespace, "TEMPORAL_NAMESPACE")
	})
	t.Run("the same instance, once more and after a restart", func(t *testing.T) {
		again := s.NewInstance("--role", "workers")
		again.Start()
		again.Stop()
		s.Instance.Stop()
		s.Instance.Start()
		s.Instance.Stop()
	})
	t.Run("a Temporal namespace that is missing", func(t *testing.T) {
		nowhere := *s
		nowhere.Namespace = "nowhere"
		nowhere.Instance = nowhere.NewInstance()
		doesNotStart(t, nowhere.Instance, "the namespace nowhere is missing in Temporal", "temporal operator namespace create")
	})
	t.Run("definitions of an older build", func(t *testing.T) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		definition.Name = crds.Watchers
		harness.EditObject(t, s.ControlPlane, definition, func() {
			for i := range definition.Spec.Versions {
				delete(definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "field")
			}
		})
		schemas, err := discovery.NewDiscoveryClientForConfig(cluster.AdminConfig(t, s.ControlPlane.Kubeconfig))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return !strings.Contains(published(t, schemas.OpenAPIV3()), `"field":`) }, time.Minute, 100*time.Millisecond)
		older := s.NewInstance()
		doesNotStart(t, older, "watchers.operator.kyma-project.io is older than this build: it lacks .spec.field", "lifecycle-manager crds | kubectl apply")
		cluster.InstallDefinitions(t, s.ControlPlane)
	})
	t.Run("the instance that the namespace belonged to is gone for good", func(t *testing.T) {
		require.NoError(t, s.Temporal.TerminateWorkflow(t.Context(), "lifecycle-manager-instance", "", "replaced"))
		second.Instance.Start()
		second.Instance.Stop()
		doesNotStart(t, s.NewInstance(), "belongs to another instance", "second of the control plane")
		require.NoError(t, s.Temporal.TerminateWorkflow(t.Context(), "lifecycle-manager-instance", "", "replaced"))
	})
}

// doesNotStart starts an instance, which ends by itself and says why.
func doesNotStart(t *testing.T, instance *harness.Instance, texts ...string) {
	t.Helper()
	instance.Launch()
	require.Eventually(t, func() bool { return !instance.Running() }, time.Minute, 50*time.Millisecond, "it does not start")
	for _, text := range texts {
		instance.Says(text, time.Second)
	}
}

// published is what an API server publishes about Watchers.
func published(t *testing.T, client openapi.Client) string {
	t.Helper()
	paths, err := client.Paths()
	require.NoError(t, err)
	document, err := paths["apis/operator.kyma-project.io/v1beta2"].Schema("application/json")
	require.NoError(t, err)
	_, watcher, found := strings.Cut(string(document), `"io.kyma-project.operator.v1beta2.Watcher":`)
	require.True(t, found)
	watcher, _, _ = strings.Cut(watcher, `"io.kyma-project.operator.v1beta2.WatcherList":`)
	return watcher
}
