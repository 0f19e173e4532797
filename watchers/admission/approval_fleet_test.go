package admission

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// as returns a client of a user with these verbs on the ModuleRollouts and RemovalBudgets of the test's namespace.
func (s *stand) as(user string, verbs ...string) client.Client {
	s.Helper()
	ctx, named := context.Background(), metav1.ObjectMeta{Name: user, Namespace: s.namespace}
	require.NoError(s, s.client.Create(ctx, &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{shared.OperatorGroup}, Resources: []string{shared.ResourceModuleRollouts, shared.ResourceRemovalBudgets}, Verbs: verbs},
	}}))
	require.NoError(s, s.client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	of, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	require.NoError(s, err)
	return of
}

// approve approves a stage as a user, in the name of somebody else.
func (s *stand) approve(as client.Client, rollout *v1beta2.ModuleRollout, stage string, options ...client.UpdateOption) error {
	s.Helper()
	require.NoError(s, s.client.Get(context.Background(), client.ObjectKeyFromObject(rollout), rollout))
	rollout.Spec.Approvals = append(rollout.Spec.Approvals, approved(stage, "carl", earlier, ""))
	return as.Update(context.Background(), rollout, options...)
}

func TestTheAPIServerRecordsWhoApproves(t *testing.T) {
	s := newStand(t)
	ctx := context.Background()
	anna, bob := s.as("anna", "update", "approve"), s.as("bob", "update")
	rollout := inStages()
	rollout.Namespace = s.namespace
	require.NoError(t, s.client.Create(ctx, rollout), "without approvals the webhook is not asked")
	require.Eventually(t, func() bool {
		return s.approve(anna, rollout, "eu", client.DryRunAll) == nil && rollout.Spec.Approvals[0].By == "anna"
	}, time.Minute, 200*time.Millisecond, "the API server does not ask the webhook")

	begin := time.Now().Add(-time.Second)
	require.NoError(t, s.approve(anna, rollout, "eu"))
	require.NoError(t, s.client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout))
	require.Len(t, rollout.Spec.Approvals, 1)
	require.Equal(t, "anna", rollout.Spec.Approvals[0].By)
	require.WithinRange(t, rollout.Spec.Approvals[0].At.Time, begin.Truncate(time.Second), time.Now().Add(time.Second))

	require.ErrorContains(t, s.approve(anna, rollout, "eu"), "anna has approved stage eu already")
	err := s.approve(bob, rollout, "eu")
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `verbs: ["approve"]`)
	require.NoError(t, s.client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout))
	rollout.Spec.Approvals[0].By = "bob"
	require.ErrorContains(t, s.client.Update(ctx, rollout), "must not change the approval of stage eu by anna")

	require.NoError(t, s.client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout))
	rollout.Spec.Plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{"fast", "regular"}}
	require.ErrorContains(t, bob.Update(ctx, rollout), "spec.plan.promotion: Forbidden: must not change")

	forged := inStages(approved("eu", "carl", earlier, ""))
	forged.Name, forged.Namespace, forged.Labels = "forged", s.namespace, map[string]string{shared.LabelManagedBy: "another"}
	require.NoError(t, s.client.Create(ctx, forged), "the rollout belongs to another instance")
	forged.Labels = nil
	require.ErrorContains(t, s.client.Update(ctx, forged), "approve again afterwards")

	budget := &v1beta2.RemovalBudget{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: shared.ManagedByLifecycleManager}}
	require.NoError(t, s.client.Create(ctx, budget), "without approvals the webhook is not asked")
	approveRemovals := func(as client.Client, approval v1beta2.RemovalApproval) error {
		require.NoError(t, s.client.Get(ctx, client.ObjectKeyFromObject(budget), budget))
		budget.Spec.Approvals = append(budget.Spec.Approvals, approval)
		return as.Update(ctx, budget)
	}
	err = approveRemovals(bob, v1beta2.RemovalApproval{Clusters: 5})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `must not approve removals in 5 clusters`)
	require.NoError(t, approveRemovals(anna, v1beta2.RemovalApproval{Change: "7", By: "carl"}))
	require.Equal(t, "anna", budget.Spec.Approvals[0].By)
	require.ErrorContains(t, approveRemovals(anna, v1beta2.RemovalApproval{Change: "8", Clusters: 5}), "either clusters or change")

	// As if the webhook were down: nobody can approve, but a rollout can be paused, and an approval withdrawn.
	configuration := &admissionv1.MutatingWebhookConfiguration{}
	require.NoError(t, s.client.Get(ctx, types.NamespacedName{Name: s.namespace}, configuration))
	configuration.Webhooks[0].ClientConfig.URL = ptr.To("https://localhost:1" + pathApproval)
	require.NoError(t, s.client.Update(ctx, configuration))
	require.Eventually(t, func() bool {
		return apierrors.IsInternalError(s.approve(anna, rollout, "us", client.DryRunAll))
	}, time.Minute, 200*time.Millisecond)
	require.NoError(t, s.client.Get(ctx, client.ObjectKeyFromObject(rollout), rollout))
	rollout.Spec.Paused = true
	require.NoError(t, bob.Update(ctx, rollout))
	rollout.Spec.Approvals = nil
	require.NoError(t, bob.Update(ctx, rollout))
}
