package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Real operators as they are published: a chart with hooks and webhooks, a bundle of 4 MB with very large definitions, and a
// small chart.
func TestPublishedOperatorsBecomeAvailableAndAreRemovedCompletely(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepNever()
	s.Push("test/modules/sample/1.0.0")
	pushPublished(s)
	s.Instance.Start()
	kyma := harness.NewKyma("operators", "sample", "cert-manager", "prometheus-operator", "metrics-server")
	s.Create(kyma)
	s.Eventually("all modules become Ready", 3*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("operators").Status
		assert.Len(c, status.Modules, 4)
		for _, m := range status.Modules {
			assert.EqualValues(c, "Ready", m.State, "%s: %s", m.Name, m.Message)
		}
		assert.EqualValues(c, "Ready", status.State)
	})

	t.Run("their Deployments are available", func(t *testing.T) {
		var deployments appsv1.DeploymentList
		require.NoError(t, s.Remote.List(t.Context(), &deployments))
		names := sets.New[string]()
		for _, d := range deployments.Items {
			names.Insert(d.Name)
			require.Positive(t, d.Status.AvailableReplicas, "Deployment %s/%s", d.Namespace, d.Name)
		}
		require.True(t, names.HasAll("prometheus-operator", "sample-operator"), "deployments: %v", names)
		require.GreaterOrEqual(t, names.Len(), 6, "cert-manager has three, and metrics-server one: %v", names)
	})
	t.Run("each module after the first adds few events", func(t *testing.T) {
		s.BecomesIdle(s.Kyma("operators"))
		assertHistoryBudgets(t, s, s.Kyma("operators"))
	})
	t.Run("nothing of them remains after the Kyma's deletion", func(t *testing.T) {
		current := s.Kyma("operators")
		require.NoError(t, s.ControlPlane.Delete(t.Context(), current))
		s.Eventually("the Kyma is gone", 3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(current)) })
		require.Empty(t, s.OfModule(t, s.Remote))
	})
}

// pushPublished pushes the published operators and adds them to the catalog.
func pushPublished(s *harness.Environment) {
	s.T.Helper()
	folder := s.T.TempDir()
	s.Run(testfleet.Binary(s.T, "modules"), "--registry", s.Registry, "--plain-http", "--out", folder,
		"--only", "cert-manager,prometheus-operator,metrics-server")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(s.T, err)
	require.NotEmpty(s.T, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(s.T, err)
		s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, content)
	}
}
