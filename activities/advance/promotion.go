package advance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// Reasons of Events about promotions.
const (
	// EventVersionPromoted, on the ModuleRollout and on the ModuleReleaseMeta: the next channel got the version.
	EventVersionPromoted = "VersionPromoted"
	// EventPromotionEnded: it does not get it from this ModuleRollout.
	EventPromotionEnded = "PromotionEnded"
)

// promote moves the version of a completed rollout to the next channel where it is time for that, and returns when to
// evaluate that again. It may run twice, and die before the status is written: the release meta says that it was done.
func (a *Activities) promote(
	ctx context.Context, r *v1beta2.ModuleRollout, o rollout.Observed, s rollout.Situation,
) (time.Time, error) {
	meta, next, err := a.nextChannel(ctx, r)
	if err != nil {
		return time.Time{}, err
	}
	if meta != nil {
		s.Desired = channelVersion(meta, r.Spec.Channel) // as it is in what would be written
	}
	status, until, due := rollout.Promote(r, o, s, next)
	if r.Status = status; due {
		if err := a.giveNext(ctx, r, meta, rollout.PromotionReason(r, s)); err != nil {
			return time.Time{}, err
		}
	}
	return until, nil
}

// nextChannel reads live what is known of the channel that a rollout's version is promoted to, and the release meta.
func (a *Activities) nextChannel(ctx context.Context, r *v1beta2.ModuleRollout) (*v1beta2.ModuleReleaseMeta, rollout.NextChannel, error) {
	index, module := desired.NewCached(a.Informers), r.Spec.ModuleName
	known, err := index.ReleaseMetas(ctx, module)
	if err != nil {
		return nil, rollout.NextChannel{}, err
	}
	var metas []*v1beta2.ModuleReleaseMeta
	for _, meta := range known {
		if meta.Namespace != r.Namespace || !a.Settings.Ours(meta.Labels) {
			continue
		}
		live := &v1beta2.ModuleReleaseMeta{}
		if err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(meta), live); client.IgnoreNotFound(err) != nil {
			return nil, rollout.NextChannel{}, fmt.Errorf("read ModuleReleaseMeta %s: %w", desired.NameOf(meta), err)
		} else if err == nil && live.DeletionTimestamp.IsZero() {
			metas = append(metas, live)
		}
	}
	if len(metas) != 1 {
		what := fmt.Sprintf("one ModuleReleaseMeta of module %s in namespace %s: there are %d", module, r.Namespace, len(metas))
		return nil, rollout.NextChannel{Unclear: what}, nil
	}
	meta, to := metas[0], r.NextChannel()
	next := rollout.NextChannel{
		Version: channelVersion(meta, to), Promoted: rollout.IsPromoted(r, meta.Annotations[shared.AnnotationPromotion]),
	}
	next.Changing, err = a.changing(ctx, index, meta, v1beta2.ChannelVersion{Channel: to, Version: next.Version})
	return meta, next, err
}

// changing is the version that a channel's newest rollout brings to its clusters, or is going to; empty where that has ended.
func (a *Activities) changing(
	ctx context.Context, index desired.Index, meta *v1beta2.ModuleReleaseMeta, channel v1beta2.ChannelVersion,
) (string, error) {
	all, err := desired.RolloutsOf(ctx, index, a.Settings, meta)
	if err != nil {
		return "", err
	}
	for _, known := range rollout.InForce(all, channel.Channel, channel.Version) {
		// Read live: the kick that led here may be about its end, which this process does not know of yet.
		newest := &v1beta2.ModuleRollout{}
		err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(known), newest)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return "", fmt.Errorf("read ModuleRollout %s: %w", desired.NameOf(known), err)
		case newest.Spec.To != channel.Version:
			return channel.Version, nil // its rollout is about to be made
		case !newest.HasEnded():
			return newest.Spec.To, nil
		}
		return "", nil
	}
	return "", nil
}

// giveNext gives the next channel the version, in the release meta as it was read, and says there why.
func (a *Activities) giveNext(ctx context.Context, r *v1beta2.ModuleRollout, meta *v1beta2.ModuleReleaseMeta, reason string) error {
	before := meta.DeepCopy()
	for i := range meta.Spec.Channels {
		if channel := &meta.Spec.Channels[i]; channel.Channel == r.NextChannel() {
			channel.Version = r.Spec.To
		}
	}
	metav1.SetMetaDataAnnotation(&meta.ObjectMeta, shared.AnnotationPromotion, reason)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := a.ControlPlane.Patch(ctx, meta, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fault.New(fault.Transient, clusters.ReasonConflict, "promote version %s to channel %s in ModuleReleaseMeta %s: %w",
			r.Spec.To, r.NextChannel(), desired.NameOf(meta), err)
	case err != nil:
		return fmt.Errorf("promote version %s to channel %s in ModuleReleaseMeta %s: %w",
			r.Spec.To, r.NextChannel(), desired.NameOf(meta), err)
	}
	if a.Events != nil {
		hint.Record(a.Events, meta, corev1.EventTypeNormal, EventVersionPromoted, reason, "")
	}
	return nil
}

// recordPromotion records an Event when a promotion has ended.
func (a *Activities) recordPromotion(r *v1beta2.ModuleRollout, before, after *v1beta2.RolloutPromotionStatus) {
	if a.Events == nil || after == nil || after.Ended == "" || before != nil && before.Ended != "" {
		return
	}
	reason := EventPromotionEnded
	if after.PromotedAt != nil {
		reason = EventVersionPromoted
	}
	what := fmt.Sprintf("module %s %s: %s", r.Spec.ModuleName, r.Spec.To, after.Ended)
	hint.Record(a.Events, r, corev1.EventTypeNormal, reason, what, hint.For(reason))
}
