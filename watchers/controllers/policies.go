package controllers

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// Reasons of the condition Ready of a RolloutPolicy.
const (
	reasonInForce         = "InForce"
	reasonNothingSelected = "NothingSelected"
	reasonNoPrometheus    = "NoPrometheus"
)

// reportPolicies records in the status of each policy how many channels it decides about.
func (c *controllers) reportPolicies(ctx context.Context, policies []v1beta2.RolloutPolicy) error {
	if len(policies) == 0 {
		return nil
	}
	var metas v1beta2.ModuleReleaseMetaList
	if err := c.reader.List(ctx, &metas, client.InNamespace(policies[0].Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list ModuleReleaseMetas: %w", err)
	}
	channels := map[string]int32{}
	for i := range metas.Items {
		found := &metas.Items[i]
		if !c.settings.Ours(found.Labels) || desired.IsSyncedCopy(found) {
			continue
		}
		for _, channel := range advance.ChannelsOf(found) {
			if policy := c.policyFor(policies, found, channel.Channel); policy != nil {
				channels[policy.Name]++
			}
		}
	}
	for i := range policies {
		if policy := &policies[i]; c.settings.Ours(policy.Labels) {
			if err := c.reportPolicy(ctx, policy, channels[policy.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *controllers) reportPolicy(ctx context.Context, policy *v1beta2.RolloutPolicy, channels int32) error {
	before := policy.DeepCopy()
	policy.Status.Channels, policy.Status.ObservedGeneration = channels, policy.Generation
	ready := metav1.Condition{
		Type: rollout.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonInForce, ObservedGeneration: policy.Generation,
		Message: fmt.Sprintf("this policy decides how new versions reach the clusters of %d channels", channels),
	}
	switch {
	case channels == 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reasonNothingSelected, "this policy decides about no channel: no ModuleReleaseMeta in this namespace matches, or other policies take precedence"
	case !c.analysed && slices.ContainsFunc(policy.Spec.Stages, func(s v1beta2.RolloutStage) bool { return len(s.Analysis) > 0 }):
		ready.Status, ready.Reason = metav1.ConditionFalse, reasonNoPrometheus
		ready.Message = fmt.Sprintf("stages with an analysis wait: %s; otherwise %s", advance.NoPrometheus, ready.Message)
	}
	meta.SetStatusCondition(&policy.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, policy.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := c.status.Patch(ctx, policy, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("write the status of RolloutPolicy %s: %w", desired.NameOf(policy), err)
	}
	return nil // a conflict causes another event
}
