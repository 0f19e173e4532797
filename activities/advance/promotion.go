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
	// EventVersionPromoted: the next channel got the version. The Event is on the ModuleRollout and on the
	// ModuleReleaseMeta.
	EventVersionPromoted = "VersionPromoted"
	// EventPromotionEnded: the next channel does not get the version from this ModuleRollout.
	EventPromotionEnded = "PromotionEnded"
)

// promote gives the version of a completed rollout to the next channel if it is time, and returns when to check again. It
// is safe to run twice, and after a crash before the status was written: the release meta records the promotion.
func (a *Activities) promote(
	ctx context.Context, r *v1beta2.ModuleRollout, o rollout.Observed, s rollout.Situation,
) (time.Time, error) {
	meta, next, err := a.nextChannel(ctx, r)
	if err != nil {
		return time.Time{}, err
	}
	if meta != nil {
		s.Desired = channelVersion(meta, r.Spec.Channel) // the version in the release meta that would be written
	}
	status, until, due := rollout.Promote(r, o, s, next)
	if r.Status = status; due {
		if err := a.giveNext(ctx, r, meta, rollout.PromotionReason(r, s)); err != nil {
			return time.Time{}, err
		}
	}
	return until, nil
}

// nextChannel reads the release meta and the state of the next channel live.
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
		what := fmt.Sprintf("exactly one ModuleReleaseMeta of module %s in namespace %s, but there are %d", module, r.Namespace, len(metas))
		return nil, rollout.NextChannel{Unclear: what}, nil
	}
	meta, to := metas[0], r.NextChannel()
	next := rollout.NextChannel{
		Version: channelVersion(meta, to), Promoted: rollout.IsPromoted(r, meta.Annotations[shared.AnnotationPromotion]),
	}
	next.Changing, err = a.changing(ctx, index, meta, v1beta2.ChannelVersion{Channel: to, Version: next.Version})
	return meta, next, err
}

// changing returns the version that a channel's newest rollout brings, or will bring, to its clusters. It returns "" if
// that rollout has ended.
func (a *Activities) changing(
	ctx context.Context, index desired.Index, meta *v1beta2.ModuleReleaseMeta, channel v1beta2.ChannelVersion,
) (string, error) {
	all, err := desired.RolloutsOf(ctx, index, a.Settings, meta)
	if err != nil {
		return "", err
	}
	for _, known := range rollout.InForce(all, channel.Channel, channel.Version) {
		// Read live, because the kick may be about the end of this rollout, which this process's informers have not seen
		// yet.
		newest := &v1beta2.ModuleRollout{}
		err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(known), newest)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return "", fmt.Errorf("read ModuleRollout %s: %w", desired.NameOf(known), err)
		case newest.Spec.To != channel.Version:
			return channel.Version, nil // the rollout of this version will be created soon
		case !newest.HasEnded():
			return newest.Spec.To, nil
		}
		return "", nil
	}
	return "", nil
}

// giveNext writes the next channel's version into the release meta, at the resourceVersion that was read, with the
// reason.
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

// recordPromotion records an Event if a promotion has ended.
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
