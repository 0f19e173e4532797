package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Real operators as they are published: a chart with hooks and webhooks, a bundle of 4 MB with very large
// definitions, and a chart with an aggregated API that stays unavailable, because no container runs here.
func TestPublishedOperatorsBecomeAvailableAndLeaveNothingBehind(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.pushPublished()
	s.instance.start()
	kyma := newKyma("operators", "sample", "cert-manager", "prometheus-operator", "metrics-server")
	s.create(kyma)
	s.eventually("all modules become Ready", 3*time.Minute, func(c *assert.CollectT) {
		status := s.kyma("operators").Status
		assert.Len(c, status.Modules, 4)
		for _, m := range status.Modules {
			assert.EqualValues(c, "Ready", m.State, "%s: %s", m.Name, m.Message)
		}
		assert.EqualValues(c, "Ready", status.State)
	})

	t.Run("their Deployments are available", func(t *testing.T) {
		var deployments appsv1.DeploymentList
		require.NoError(t, s.remote.List(t.Context(), &deployments))
		names := sets.New[string]()
		for _, d := range deployments.Items {
			names.Insert(d.Name)
			require.Positive(t, d.Status.AvailableReplicas, "Deployment %s/%s", d.Namespace, d.Name)
		}
		require.True(t, names.HasAll("prometheus-operator", "sample-operator"), "deployments: %v", names)
		require.GreaterOrEqual(t, names.Len(), 6, "cert-manager has three, and metrics-server one: %v", names)
	})
	t.Run("each module after the first adds few events", func(t *testing.T) {
		s.eventually("the Manifests' workflows complete", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "Completed", s.workflowsOf(s.kyma("operators"))[kick.ManifestWorkflow])
		})
		s.assertHistoryBudgets(t, s.kyma("operators"))
	})
	t.Run("nothing of them is left after the Kyma's deletion", func(t *testing.T) {
		current := s.kyma("operators")
		require.NoError(t, s.controlPlane.Delete(t.Context(), current))
		s.eventually("the Kyma is gone", 3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(current)) })
		require.Empty(t, s.ofModule(t, s.remote))
	})
}

// pushPublished pushes the published operators and announces them.
func (s *stage) pushPublished() {
	s.t.Helper()
	folder := s.t.TempDir()
	s.run(testfleet.Binary(s.t, "modules"), "--registry", s.registry, "--plain-http", "--out", folder,
		"--only", "cert-manager,prometheus-operator,metrics-server")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(s.t, err)
		s.apply(s.controlPlane, controlPlaneNamespace, content)
	}
}

// Kicks that come while work is under way cost little, and cause no work of their own.
func TestFiftyKicksDuringAnInstallationStayWithinTheBudget(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("kicked", "sample"))
	sender := kick.NewSender(s.temporal, nil)
	kyma := s.kyma("kicked")
	// As fast as the watchers' limit lets them, as when many templates are applied at once.
	limit := rate.NewLimiter(50, 1)
	for i := range 50 {
		require.NoError(t, limit.Wait(t.Context()))
		require.NoError(t, sender.Kyma(t.Context(), kick.RefOf(kyma), kick.Kick{Reason: fmt.Sprintf("kick %d", i), Kind: "ModuleTemplate"}))
	}
	s.becomesReady("kicked", "sample@1.0.0")
	s.eventually("the Manifest settles", 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Completed", s.workflowsOf(kyma)[kick.ManifestWorkflow])
	})
	total, parts := s.events(kyma)
	t.Logf("history events of an installation with 50 kicks: %d (%s)", total, parts)
	require.LessOrEqual(t, total, budgetFiftyKicks, parts)
}

// An idle Kyma writes no history: the sweep looks without waking anybody.
func TestAnIdleKymaAddsNoHistory(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("idle", "sample"))
	s.becomesReady("idle", "sample@1.0.0")
	kyma := s.kyma("idle")
	s.becomesIdle(kyma)
	remote := s.atRest(t, s.remote)
	before, _ := s.events(kyma)
	s.sweeps(t, 3)
	after, parts := s.events(kyma)
	require.Equal(t, before, after, parts)
	require.Empty(t, differences(remote, s.versions(t, s.remote)), "nobody writes to the remote cluster")
}
