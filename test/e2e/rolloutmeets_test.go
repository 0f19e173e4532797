package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// replan gives the policy another plan, waits until it is in force for the next version, and returns it with its defaults.
func (s *stagedFleet) replan(plan v1beta2.RolloutPlan) v1beta2.RolloutPlan {
	s.T.Helper()
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: harness.ControlPlaneNamespace}}
	harness.EditObject(s.T, s.ControlPlane, policy, func() { policy.Spec.RolloutPlan = plan })
	s.Eventually("the policy's new plan is read", time.Minute, func(c *assert.CollectT) {
		found := &v1beta2.RolloutPolicy{}
		require.NoError(c, s.ControlPlane.Get(s.T.Context(), types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name}, found))
		assert.GreaterOrEqual(c, found.Status.ObservedGeneration, policy.Generation)
	})
	return policy.Spec.RolloutPlan
}

// have waits until so many Manifests have each version of the module.
func (s *stagedFleet) have(versions map[string]int) {
	s.T.Helper()
	s.Eventually(fmt.Sprintf("the fleet has %v", versions), 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, versions, s.versions())
	})
}

// writePolicyForPlan makes a policy by which those of a plan have a window that begins then, and all others one now.
func writePolicyForPlan(t *testing.T, path, plan string, begin time.Time) {
	t.Helper()
	window := func(begin time.Time) string {
		return fmt.Sprintf(`{"begin":%q,"end":%q}`, begin.UTC().Format(time.RFC3339), begin.Add(6*time.Hour).UTC().Format(time.RFC3339))
	}
	content := fmt.Sprintf(`{"rules":[{"match":{"plan":%q},"windows":[%s]}],"default":%s}`, "^"+plan+"$", window(begin), window(time.Now().Add(-time.Hour)))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// counted sums a number of all stages.
func counted(r v1beta2.ModuleRollout, number func(v1beta2.RolloutStageStatus) int32) (sum int) {
	for _, stage := range r.Status.Stages {
		sum += int(number(stage))
	}
	return sum
}

// What a rollout meets in a fleet, each after the other: clusters out of reach and one that waits for its maintenance window,
// people who do not answer, and a version that fails everywhere in the same way.
func TestARolloutCountsWhatItMeetsInTheFleet(t *testing.T) {
	const webhook, certificate, kymas = "e2e-meets-webhook", "e2e-meets-webhook-tls", 10
	three, everyone := intstr.FromInt32(3), intstr.FromString("100%")
	windows := filepath.Join(t.TempDir(), "policy.json")
	writePolicyForPlan(t, windows, "late", time.Now().Add(240*time.Hour))
	s := newStagedFleet(t, kymas, canaryFirst(),
		append(webhookFlags(t, webhook, certificate), "--maintenance-policy-path", windows)...)
	removeWebhook(s.Environment, webhook, certificate)
	anna := s.person("anna", "update", "approve")

	s.step("clusters out of reach, and a maintenance window", func() {
		cut := []string{"staged-7", "staged-8", "staged-9"}
		nowhere := harness.Kubeconfig(t, "https://127.0.0.1:1", nil, nil)
		for _, kyma := range cut {
			s.GiveAccess(kyma, nowhere)
		}
		for _, kyma := range cut {
			s.Eventually(kyma+" is out of reach", time.Minute, func(c *assert.CollectT) {
				assert.True(c, s.Kyma(kyma).IsMarkedUnreachable())
			})
		}
		harness.Edit(t, s.ControlPlane, s.Kyma("staged-1"), func(k *v1beta2.Kyma) { k.Labels = map[string]string{"kyma-project.io/broker-plan-name": "late"} })
		s.PushModule(harness.MinimalModule{Name: staged, Version: "3.1.0", Channels: "regular", Config: "requiresDowntime: true"})
		done := s.reaches("3.1.0", v1beta2.RolloutCompleted)
		require.Equal(t, "6/10", done.Status.Progress)
		require.Equal(t, 3, counted(done, func(of v1beta2.RolloutStageStatus) int32 { return of.Unreachable }))
		require.Equal(t, 1, counted(done, func(of v1beta2.RolloutStageStatus) int32 { return of.Waiting }))
		require.Zero(t, counted(done, func(of v1beta2.RolloutStageStatus) int32 { return of.Failed + of.Broken + of.Updating }))
		require.True(t, s.Module("staged-1", staged).Maintenance)
		require.Equal(t, "1.0.0", s.Module("staged-1", staged).Version)

		writePolicy(t, windows, time.Now().Add(-time.Hour))
		for _, kyma := range cut {
			s.GiveAccess(kyma, s.RemoteAccess(t))
		}
		for _, kyma := range s.kymas {
			s.BecomesReady(kyma, staged+"@3.1.0")
			require.Equal(t, "3.1.0", s.MinimalVersion(kyma, staged))
		}
	})

	s.step("approvals that expire", func() {
		plan, soon := canaryFirst(), &metav1.Duration{Duration: 2 * time.Second}
		plan.Stages[0].Approval = &v1beta2.RolloutApprovalRule{When: v1beta2.ApproveAfter, Expires: soon, OnExpiry: v1beta2.ExpiryHold}
		plan.Stages[1].Approval = &v1beta2.RolloutApprovalRule{When: v1beta2.ApproveBefore, Expires: soon, OnExpiry: v1beta2.ExpiryProceed}
		everybody := intstr.FromInt32(kymas)
		plan.Concurrency = &everybody
		s.replan(plan)
		s.publish("3.5.0")
		held := s.reaches("3.5.0", v1beta2.RolloutHeld)
		require.Contains(t, held.Status.WaitsFor, "stage canary was not approved within 2s: approve it")
		require.Equal(t, 1, counted(held, func(of v1beta2.RolloutStageStatus) int32 { return of.Released }))
		require.Nil(t, held.Status.WaitsUntil, "it waits for people")
		s.Eventually("anna approves, if late", time.Minute, func(c *assert.CollectT) {
			assert.NoError(c, s.approve(anna, "3.5.0"))
		})
		done := s.reaches("3.5.0", v1beta2.RolloutCompleted)
		half := done.Status.Stages[1]
		require.False(t, half.FirstReleasedAt.Before(&metav1.Time{Time: half.StartedAt.Add(soon.Duration)}), "not before its time was over")
		s.have(map[string]int{"3.5.0": kymas})
	})

	s.step("the same failure on three clusters", func() {
		s.replan(v1beta2.RolloutPlan{Concurrency: &three, MaxFailures: &everyone})
		s.PushModule(harness.MinimalModule{Name: staged, Version: "3.6.0", Channels: "regular", Manifest: badObject})
		s.reaches("3.6.0", v1beta2.RolloutHeld)
		// Each that fails makes room for another, until the third does.
		s.Eventually("all that have the version have failed", time.Minute, func(c *assert.CollectT) {
			r := s.rolloutTo(c, "3.6.0")
			require.Len(c, r.Status.Failures, 1)
			assert.Equal(c, r.Status.Stages[0].Released, r.Status.Failures[0].Clusters)
		})
		held := s.rolloutTo(t, "3.6.0")
		require.Equal(t, v1beta2.RolloutHeld, held.Status.Phase, "though all may fail")
		stage, failure := held.Status.Stages[0], held.Status.Failures[0]
		require.GreaterOrEqual(t, stage.Released, int32(3))
		require.LessOrEqual(t, stage.Released, int32(5))
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, failure.Layer)
		require.NotEmpty(t, failure.Message)
		require.Len(t, failure.Kymas, int(failure.Clusters))
		require.Contains(t, held.Status.WaitsFor, fmt.Sprintf("%d clusters failed in the same way with version 3.6.0 (%s): %s: %s; on %s",
			failure.Clusters, failure.Layer, failure.Reason, failure.Message, harness.ControlPlaneNamespace+"/staged-"))
		require.Equal(t, map[string]int{"3.5.0": kymas - int(stage.Released), "3.6.0": int(stage.Released)}, s.versions())
	})
}

// step logs how long a part of a test took that its later parts depend on.
func (s *stagedFleet) step(what string, do func()) {
	s.T.Helper()
	began := time.Now()
	do()
	s.T.Logf("%s: %s", what, time.Since(began).Round(time.Second))
}
