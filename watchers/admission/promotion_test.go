package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// promotable returns inStages with a promotion.
func promotable(approvals ...v1beta2.RolloutApproval) *v1beta2.ModuleRollout {
	r := inStages(approvals...)
	r.Spec.Plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{"fast", "regular"}, Approval: v1beta2.ApproveAll, Persons: 2}
	return r
}

func TestAPromotionIsApprovedLikeAStage(t *testing.T) {
	d := newDesk(t)
	content, err := d.request(promotable(), promotable(approved(rollout.ApprovePromotion, "bob", earlier, "tested")))
	require.NoError(t, err)
	given, _, err := unstructured.NestedSlice(content.Object, "spec", "approvals")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"stage": "promotion", "reason": "tested", "by": "anna", "at": now}}, given)
	require.Len(t, d.asked, 1)

	hers := approved(rollout.ApprovePromotion, "anna", earlier, "")
	_, err = d.request(promotable(hers), promotable(hers, approved(rollout.ApprovePromotion, "", "", "")))
	require.ErrorContains(t, err, "anna has approved stage promotion already")

	d.answer.Allowed = false
	_, err = d.request(promotable(), promotable(approved(rollout.ApprovePromotion, "", "", "")))
	require.True(t, apierrors.IsForbidden(err))
}

func TestOnlyAPromotionInThePlanCanBeApproved(t *testing.T) {
	_, err := newDesk(t).request(inStages(), inStages(approved(rollout.ApprovePromotion, "", "", "")))
	require.ErrorContains(t, err, `"promotion": the plan has no such stage; it has canary, eu, us, rest`)
	_, err = newDesk(t).request(promotable(), promotable(approved("asia", "", "", "")))
	require.ErrorContains(t, err, "the plan has no such stage; it has canary, eu, us, rest, promotion")
	_, err = newDesk(t).request(promotable(), promotable(approved("canary", "", "", "")))
	require.ErrorContains(t, err, "those that do are eu, us, rest, promotion")
}

// Otherwise a user who may edit a rollout, but not approve it, could avoid an approval.
func TestThePromotionToApproveCannotChange(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.ModuleRollout){
		"who":    func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion.Approval = v1beta2.ApproveNone },
		"by two": func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion.Persons = 1 },
		"when": func(r *v1beta2.ModuleRollout) {
			r.Spec.Plan.Promotion.After.Patch = &metav1.Duration{Duration: time.Second}
		},
		"to where": func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion.Channels[1] = "slow" },
		"that":     func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Promotion = nil },
	} {
		changed := promotable()
		change(changed)
		_, err := newDesk(t).request(promotable(), changed)
		require.ErrorContains(t, err, "spec.plan.promotion: Forbidden: must not change", name)
		_, err = newDesk(t).request(nil, changed)
		require.NoError(t, err, name)
	}
	_, err := newDesk(t).request(inStages(), promotable())
	require.ErrorContains(t, err, "spec.plan.promotion: Forbidden: must not change")
	paused := promotable()
	paused.Spec.Paused = true
	_, err = newDesk(t).request(promotable(), paused)
	require.NoError(t, err)
}
