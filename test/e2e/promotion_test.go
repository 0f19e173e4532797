package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// rolloutOf is the rollout of a version to a channel; an empty one where there is none.
func (s *stagedFleet) rolloutOf(t require.TestingT, channel, version string) v1beta2.ModuleRollout {
	var list v1beta2.ModuleRolloutList
	require.NoError(t, s.ControlPlane.List(context.Background(), &list, client.InNamespace(harness.ControlPlaneNamespace)))
	for _, r := range list.Items {
		if r.Spec.Channel == channel && r.Spec.To == version {
			return r
		}
	}
	return v1beta2.ModuleRollout{}
}

// completes waits until a version has reached all clusters of a channel.
func (s *stagedFleet) completes(channel, version string) {
	s.T.Helper()
	s.Eventually("the rollout of "+version+" to "+channel+" completes", 3*time.Minute, func(c *assert.CollectT) {
		r := s.rolloutOf(c, channel, version)
		assert.Equal(c, v1beta2.RolloutCompleted, r.Status.Phase, "%+v", r.Status)
	})
}

// promotes waits until the version of a rollout of the channel fast was promoted.
func (s *stagedFleet) promotes(version string) {
	s.T.Helper()
	s.Eventually("version "+version+" is promoted", 3*time.Minute, func(c *assert.CollectT) {
		r := s.rolloutOf(c, "fast", version)
		require.NotNil(c, r.Status.Promotion, "%+v", r.Status)
		assert.NotNil(c, r.Status.Promotion.PromotedAt, "%+v", r.Status.Promotion)
	})
}

// approvePromotion approves that of a rollout of the channel fast as somebody.
func (s *stagedFleet) approvePromotion(as client.Client, version string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		r := s.rolloutOf(s.T, "fast", version)
		r.Spec.Approvals = append(r.Spec.Approvals, v1beta2.RolloutApproval{Stage: rollout.ApprovePromotion, Reason: "it is well"})
		return as.Update(s.T.Context(), &r)
	})
}

func TestAVersionFlowsFromFastToRegular(t *testing.T) {
	const webhook, certificate = "e2e-promotion-webhook", "e2e-promotion-webhook-tls"
	flags := append([]string{"--module-upgrade-rollout-max-delay", "0s"}, webhookFlags(t, webhook, certificate)...)
	s := &stagedFleet{Environment: harness.NewEnvironment(t, flags...)}
	removeWebhook(s.Environment, webhook, certificate)
	s.Instance.Start()
	s.PushModule(harness.MinimalModule{Name: staged, Version: "1.0.0", Channels: "fast, regular"})
	for _, channel := range []string{"fast", "regular"} {
		kyma := harness.NewSynced("flows-"+channel, staged)
		kyma.Spec.Modules[0].Channel = channel
		s.Create(kyma)
		s.kymas = append(s.kymas, kyma.Name)
	}
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.0.0")
	}
	well := &metav1.Duration{Duration: 2 * time.Second}
	plan := v1beta2.RolloutPlan{Promotion: &v1beta2.RolloutPromotion{
		Channels: []string{"fast", "regular"}, After: v1beta2.PromotionTimes{Patch: well, Minor: well, Major: well},
	}}
	require.NoError(t, s.ControlPlane.Create(t.Context(), &v1beta2.RolloutPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "flows", Namespace: harness.ControlPlaneNamespace}, Spec: v1beta2.RolloutPolicySpec{RolloutPlan: plan},
	}))
	s.completes("fast", "1.0.0")
	s.completes("regular", "1.0.0")

	// A minor version flows by itself, and the release meta says why.
	s.PushModule(harness.MinimalModule{Name: staged, Version: "1.1.0", Channels: "fast, regular=1.0.0"})
	s.promotes("1.1.0")
	s.completes("regular", "1.1.0")
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}
	done := s.rolloutOf(t, "fast", "1.1.0")
	require.False(t, done.IsAtWork())
	require.Equal(t, v1beta2.ChangeMinor, done.Status.Promotion.Change)
	require.GreaterOrEqual(t, done.Status.Promotion.PromotedAt.Sub(done.Status.CompletedAt.Time), well.Duration)
	meta := &v1beta2.ModuleReleaseMeta{}
	require.NoError(t, s.ControlPlane.Get(t.Context(), types.NamespacedName{Namespace: harness.ControlPlaneNamespace, Name: staged}, meta))
	require.Contains(t, meta.Annotations[shared.AnnotationPromotion], "staged 1.1.0 from fast to regular: ModuleRollout "+done.Name+" completed ")
	require.Nil(t, s.rolloutOf(t, "regular", "1.1.0").Status.Promotion, "it is the last channel")

	// A major one waits for somebody who may approve.
	anna, carl := s.person("anna", "update", "approve"), s.person("carl", "update")
	s.PushModule(harness.MinimalModule{Name: staged, Version: "2.0.0", Channels: "fast, regular=1.1.0"})
	s.Eventually("the promotion waits for people", 3*time.Minute, func(c *assert.CollectT) {
		r := s.rolloutOf(c, "fast", "2.0.0")
		assert.Equal(c, "the approval of the promotion to channel regular by one more person", r.Status.WaitsFor)
	})
	s.Eventually("the API server asks the webhook", time.Minute, func(c *assert.CollectT) {
		assert.True(c, apierrors.IsForbidden(s.approvePromotion(carl, "2.0.0")), "carl has no right to approve")
	})
	require.Empty(t, s.rolloutOf(t, "regular", "2.0.0").Name)
	require.NoError(t, s.approvePromotion(anna, "2.0.0"))
	s.promotes("2.0.0")
	s.completes("regular", "2.0.0")
	s.BecomesReady("flows-regular", staged+"@2.0.0")
	require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
	require.Contains(t, meta.Annotations[shared.AnnotationPromotion], ", approved by anna")
	s.AssertRuns("module-rollout-promoted", map[string]string{"promoted": s.promotion("1.1.0"), "approved": s.promotion("2.0.0")})
}

// promotion is the id of the workflow of a rollout of the channel fast.
func (s *stagedFleet) promotion(version string) string {
	r := s.rolloutOf(s.T, "fast", version)
	return kick.RolloutWorkflowID(kick.RefOf(&r))
}
