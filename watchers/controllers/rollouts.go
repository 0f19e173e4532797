package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// moduleRequest names a module in a namespace whose rollouts may differ from what its policies require.
type moduleRequest struct{ types.NamespacedName }

type moduleQueue = workqueue.TypedRateLimitingInterface[moduleRequest]

// addRollouts creates a ModuleRollout when a release meta gives a channel another version and a policy matches.
//
// The first rollout that a policy creates for a channel is for the version that the channel already has, and ends at
// once. From then on, no new version reaches a cluster without a rollout. Otherwise a cluster could get a version by a
// reconcile between the edit of the release meta and the creation of the rollout.
func (c *controllers) addRollouts(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[moduleRequest](mgr).Named("rollouts").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, moduleEvents(func(_ context.Context, meta *v1beta2.ModuleReleaseMeta) []string {
			return []string{desired.ReleaseMetaModule(meta)}
		}))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleRollout{}, moduleEvents(func(_ context.Context, r *v1beta2.ModuleRollout) []string {
			return []string{r.Spec.ModuleName}
		}))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.RolloutPolicy{}, moduleEvents(c.modulesOf))).
		Complete(reconcile.TypedFunc[moduleRequest](c.reconcileRollouts))
}

func moduleEvents[T client.Object](modules func(context.Context, T) []string) handler.TypedFuncs[T, moduleRequest] {
	add := func(ctx context.Context, object T, q moduleQueue) {
		for _, module := range modules(ctx, object) {
			q.Add(moduleRequest{types.NamespacedName{Namespace: object.GetNamespace(), Name: module}})
		}
	}
	return handler.TypedFuncs[T, moduleRequest]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q moduleQueue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q moduleQueue) {
			if matters(e.ObjectOld, e.ObjectNew) {
				add(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q moduleQueue) { add(ctx, e.Object, q) },
	}
}

// matters reports whether more of an object changed than its annotations and its status. Of the status only the phase
// of a rollout matters, because each step of a rollout writes the rest.
func matters(before, after client.Object) bool {
	if before.GetGeneration() != after.GetGeneration() || !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		before.GetUID() != after.GetUID() || before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
		return true
	}
	was, isRollout := before.(*v1beta2.ModuleRollout)
	now, _ := after.(*v1beta2.ModuleRollout)
	return isRollout && was.Status.Phase != now.Status.Phase
}

// modulesOf returns the modules that a policy may be for: those with release metas in its namespace. The empty name is
// always included, so that the policy's status is written even if there are no modules.
func (c *controllers) modulesOf(ctx context.Context, policy *v1beta2.RolloutPolicy) []string {
	modules := []string{""}
	var metas v1beta2.ModuleReleaseMetaList
	if err := c.reader.List(ctx, &metas, client.InNamespace(policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return modules // each release meta causes an event of its own
	}
	for i := range metas.Items {
		modules = append(modules, desired.ReleaseMetaModule(&metas.Items[i]))
	}
	return modules
}

// reconcileRollouts creates and removes the rollouts of one module.
func (c *controllers) reconcileRollouts(ctx context.Context, req moduleRequest) (reconcile.Result, error) {
	index := desired.NewCached(c.reader)
	metas, err := index.ReleaseMetas(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	var policies v1beta2.RolloutPolicyList
	if err := c.reader.List(ctx, &policies, client.InNamespace(req.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the RolloutPolicies of namespace %s: %w", req.Namespace, err)
	}
	metas = slices.DeleteFunc(metas, func(meta *v1beta2.ModuleReleaseMeta) bool {
		return meta.Namespace != req.Namespace || !c.settings.Ours(meta.Labels) || !meta.DeletionTimestamp.IsZero()
	})
	if len(metas) > 1 {
		metas = nil // no Kyma gets a version from several release metas, and their rollouts would supersede each other
	}
	again := false
	for _, meta := range metas {
		all, err := desired.RolloutsOf(ctx, index, c.settings, meta)
		if err != nil {
			return reconcile.Result{}, err
		}
		for _, channel := range advance.ChannelsOf(meta) {
			more, err := c.reconcileChannel(ctx, meta, channel, c.policyFor(policies.Items, meta, channel.Channel), rollout.ByPolicy(all, channel.Channel))
			if err != nil {
				return reconcile.Result{}, err
			}
			again = again || more
		}
	}
	if err := c.reportPolicies(ctx, policies.Items); err != nil {
		return reconcile.Result{}, err
	}
	if again {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, nil
}

// policyFor returns the policy for a channel; nil if none matches.
func (c *controllers) policyFor(policies []v1beta2.RolloutPolicy, meta *v1beta2.ModuleReleaseMeta, channel string) *v1beta2.RolloutPolicy {
	return rollout.PolicyFor(policies, rollout.Subject{Module: desired.ReleaseMetaModule(meta), Labels: meta.Labels, Channel: channel}, c.settings.Ours)
}

// keptRollouts is how many ended rollouts of a channel are kept for people to read.
const keptRollouts = 3

// reconcileChannel creates or removes the rollouts of one channel. chain has the newest rollout first.
func (c *controllers) reconcileChannel(ctx context.Context, meta *v1beta2.ModuleReleaseMeta, channel v1beta2.ChannelVersion,
	policy *v1beta2.RolloutPolicy, chain []*v1beta2.ModuleRollout,
) (again bool, err error) {
	switch {
	case policy == nil && len(chain) == 0:
		return false, nil
	case policy == nil:
		// A rollout in progress continues by its own plan. A rollout that ended early keeps withholding the version
		// from the remaining clusters, until the release meta changes the version.
		if chain[0].Status.Phase == v1beta2.RolloutCompleted || chain[0].Spec.To != channel.Version {
			return false, c.deleteRollouts(ctx, chain)
		}
		return false, nil
	case len(chain) == 0:
		return c.createRollout(ctx, meta, policy, channel, channel.Version, 1)
	case chain[0].Spec.To != channel.Version:
		from := chain[0].Spec.To
		if chain[0].Status.Reverts {
			from = chain[0].Spec.From
		}
		return c.createRollout(ctx, meta, policy, channel, from, chain[0].Spec.Sequence+1)
	case chain[0].Status.Phase == v1beta2.RolloutCompleted && len(chain) > keptRollouts:
		return false, c.deleteRollouts(ctx, chain[keptRollouts:])
	default:
		return false, nil
	}
}

// createRollout creates a rollout with a copy of the policy's plan. The rollout's name is derived from its purpose, so
// that it is created only once, even by two processes.
func (c *controllers) createRollout(ctx context.Context, meta *v1beta2.ModuleReleaseMeta, policy *v1beta2.RolloutPolicy,
	channel v1beta2.ChannelVersion, from string, sequence int64,
) (again bool, err error) {
	module := desired.ReleaseMetaModule(meta)
	parts := []string{module, channel.Channel, channel.Version, desired.DigestOf(meta.UID, channel, from, sequence)[:6]}
	if channel.Channel == "" {
		parts = slices.Delete(parts, 1, 2)
	}
	r := &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: strings.ToLower(strings.Join(parts, "-")),
			Labels: map[string]string{shared.LabelManagedBy: c.settings.ManagedBy},
		},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: module, Channel: channel.Channel, From: from, To: channel.Version, Policy: policy.Name, Sequence: sequence,
			Plan: *policy.Spec.RolloutPlan.DeepCopy(),
		},
	}
	if len(validation.IsValidLabelValue(module)) == 0 {
		r.Labels[shared.LabelModuleName] = module
	}
	err = c.writer.Create(ctx, r, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return true, nil // the informer does not have the rollout yet
	case err != nil:
		return false, fmt.Errorf("create ModuleRollout %s: %w", desired.NameOf(r), err)
	}
	return false, nil
}

// deleteRollouts deletes rollouts, the oldest first. The remaining ones decide in the same way meanwhile.
func (c *controllers) deleteRollouts(ctx context.Context, rollouts []*v1beta2.ModuleRollout) error {
	for _, r := range slices.Backward(rollouts) {
		err := c.writer.Delete(ctx, r, client.Preconditions{UID: ptr.To(r.UID)})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ModuleRollout %s: %w", desired.NameOf(r), err)
		}
	}
	return nil
}
