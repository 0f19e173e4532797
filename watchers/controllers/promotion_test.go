package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestARolloutKeepsThePromotionOfItsPolicyAndEndsItWithThePolicy(t *testing.T) {
	promotion := v1beta2.RolloutPromotion{Channels: []string{"regular", "slow"}}
	s := newStagedCatalog(t, policy("careful", func(p *v1beta2.RolloutPolicy) { p.Spec.Promotion = promotion.DeepCopy() }), keda("regular=1.0.0"))
	s.release("1.0.0", v1beta2.RolloutCompleted)
	s.release("1.1.0", v1beta2.RolloutCompleted)
	p := policy("careful")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	p.Spec.Promotion = nil
	require.NoError(t, s.Update(t.Context(), p))
	require.False(t, s.reconcile())
	first, second := s.rollouts()[0], s.rollouts()[1]
	require.False(t, first.IsAtWork(), "the first rollout brought no version")
	require.Equal(t, &promotion, second.Spec.Plan.Promotion)
	require.True(t, second.IsAtWork())

	require.NoError(t, s.Delete(t.Context(), p))
	require.False(t, s.reconcile())
	require.Empty(t, s.rollouts())
}
