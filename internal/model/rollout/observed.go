package rollout

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Observation is the observed state of one cluster of a rollout.
type Observation struct {
	Cluster
	// Kyma is the cluster's Kyma, as namespace/name.
	Kyma string
	// Version is the version of the module's Manifest. State is the Manifest's state for its present spec. Both may be
	// empty.
	Version string
	State   shared.State
	// Reason, Message and Layer describe what is wrong.
	Reason, Message, Layer string
	// Refused is true if the cluster cannot get the version at all, for Reason.
	Refused bool
	// Unreachable is true if the cluster cannot be reached at the moment. Waits is true if the upgrade waits for its
	// own reasons.
	Unreachable, Waits bool
	// AwaitsRegistry is true if the module's layers cannot be fetched at the moment, because the registry does not
	// answer or limits the rate of requests. This is not a failure of the version.
	AwaitsRegistry bool
	// Since is when the Manifest got its version. WasWell is true if the module was healthy before.
	Since   time.Time
	WasWell bool
	// DeferredUntil is set if the cluster's owner deferred the version. Then Waits is true as well.
	DeferredUntil time.Time
	// FreeSince is when the cluster became available for updates again, after it was not for a while.
	FreeSince time.Time
}

// ReasonNotStarted is the reason of a failure: the version was released to a cluster, but its Manifest did not get the
// version in time.
const ReasonNotStarted = "VersionNotApplied"

// ReasonNotSettled is the reason of a failure: the module did not become ready in time.
const ReasonNotSettled = "NotSettled"

// Observed is the observed state of all clusters of a rollout.
type Observed struct {
	Stages []StageObserved
	// Failures are the failed clusters, grouped by cause, largest group first.
	Failures []v1beta2.RolloutFailure
	// Deferrals are the clusters that defer the version, the earliest end first.
	Deferrals []v1beta2.DeferredCluster
}

// StageObserved has the counts of the clusters of one stage.
type StageObserved struct {
	Total, Released, Updating, Ready, Failed, Broken, Waiting, Unreachable int32
	// Deferred is how many of the waiting clusters wait because their owners deferred the version.
	Deferred int32
	// AwaitsRegistry is how many of the updating clusters wait for the registry. RegistrySays is its answer to the
	// first of them.
	AwaitsRegistry int32
	RegistrySays   string
	// NotStarted is how many of the failed clusters did not get the version at all.
	NotStarted int32
	// TakingBack is how many clusters are being reverted.
	TakingBack int32
	// Pending and Done are the sorted positions of the clusters that are not released, and of those that are.
	Pending, Done []int64
	// Deadline is the earliest time at which an updating cluster fails, or at which the revert no longer waits for a
	// cluster.
	Deadline time.Time
}

// Observe counts the clusters of each stage by their state.
func Observe(r *v1beta2.ModuleRollout, observations []Observation, now time.Time) Observed {
	stages := Stages(r.Spec.Plan)
	o := Observed{Stages: make([]StageObserved, len(stages))}
	place, places := PlaceFunc(r), make([]Place, len(observations))
	for i, observation := range observations {
		places[i] = place(observation.Cluster)
		o.Stages[places[i].Stage].Total++
	}
	var allFailed []Observation
	for i, observation := range observations {
		at := &o.Stages[places[i].Stage]
		plan := planOf(r.Spec, places[i].Stage, at.Total)
		since := releasedAt(r, places[i].Stage)
		if !Released(r, places[i]) {
			at.Pending = append(at.Pending, places[i].Position)
			if observation.isOnItsWayBack(r) && now.Before(since.Add(plan.settleWithin)) {
				at.TakingBack++
				at.Deadline = earliest(at.Deadline, since.Add(plan.settleWithin))
			}
			continue
		}
		at.Released++
		at.Done = append(at.Done, places[i].Position)
		state, deadline := observation.judge(r.Spec.To, since, plan.settleWithin, now)
		at.add(state, deadline)
		if state == updating && observation.AwaitsRegistry {
			at.AwaitsRegistry++
			at.RegistrySays = cmp.Or(at.RegistrySays, cut(observation.Message))
		}
		if state == waiting && !observation.DeferredUntil.IsZero() {
			at.Deferred++
			o.Deferrals = append(o.Deferrals, v1beta2.DeferredCluster{Kyma: observation.Kyma, Until: metav1.NewTime(observation.DeferredUntil)})
		}
		if state == failed {
			allFailed = append(allFailed, observation)
			if observation.isNotStarted(r.Spec.To) {
				at.NotStarted++
			}
		}
	}
	for i := range o.Stages {
		slices.Sort(o.Stages[i].Pending)
		slices.Sort(o.Stages[i].Done)
	}
	o.Failures = grouped(allFailed, r.Spec.To)
	slices.SortFunc(o.Deferrals, func(a, b v1beta2.DeferredCluster) int {
		return cmp.Or(a.Until.Compare(b.Until.Time), cmp.Compare(a.Kyma, b.Kyma))
	})
	o.Deferrals = o.Deferrals[:min(len(o.Deferrals), shownFailures)]
	return o
}

// releasedAt returns when clusters of a stage were last released or reverted.
func releasedAt(r *v1beta2.ModuleRollout, stage int) time.Time {
	if stage < len(r.Status.Stages) && r.Status.Stages[stage].ReleasedAt != nil {
		return r.Status.Stages[stage].ReleasedAt.Time
	}
	return time.Time{}
}

// judgement is the state of a cluster to which a version was released.
type judgement int

const (
	updating judgement = iota
	ready
	failed
	broken
	waiting
	unreachable
)

// judge returns the state of a cluster. A cluster that has not settled by the deadline has failed. A cluster that was
// not healthy before, cannot be reached, or waits for its own reasons has not failed.
func (s Observation) judge(to string, released time.Time, within time.Duration, now time.Time) (judgement, time.Time) {
	updated := s.Version == to
	switch {
	case updated && (s.State == shared.StateReady || s.State == shared.StateWarning):
		return ready, time.Time{}
	case s.Unreachable:
		return unreachable, time.Time{}
	case s.Waits:
		return waiting, time.Time{}
	case !updated && s.Refused:
		return s.notUpdated(), time.Time{}
	case updated && s.AwaitsRegistry:
		return updating, time.Time{}
	case updated && s.State == shared.StateError:
		return s.bad(), time.Time{}
	}
	since := released
	if updated && !s.Since.IsZero() {
		since = s.Since
	}
	if s.FreeSince.After(since) {
		since = s.FreeSince
	}
	if deadline := since.Add(within); now.Before(deadline) {
		return updating, deadline
	}
	if !updated && s.Version != "" {
		return s.notUpdated(), time.Time{}
	}
	return s.bad(), time.Time{}
}

// notUpdated returns the state of a cluster that did not get the new version. If the cluster was not healthy, the new
// version might have repaired it, so it does not count as failed.
func (s Observation) notUpdated() judgement {
	if s.Version == "" || s.State == shared.StateError {
		return broken
	}
	return failed
}

// isNotStarted reports whether nothing was tried on a failed cluster.
func (s Observation) isNotStarted(to string) bool { return s.Version != to && !s.Refused }

func (s Observation) bad() judgement {
	if s.WasWell {
		return failed
	}
	return broken
}

// isOnItsWayBack reports whether a cluster is being reverted to its earlier version.
func (s Observation) isOnItsWayBack(r *v1beta2.ModuleRollout) bool {
	if !r.Status.Reverts || s.Unreachable || s.Waits || s.Version == "" {
		return false
	}
	return s.Version == r.Spec.To || s.State != shared.StateReady && s.State != shared.StateWarning && s.State != shared.StateError
}

func (o *StageObserved) add(state judgement, deadline time.Time) {
	switch state {
	case updating:
		o.Updating++
		o.Deadline = earliest(o.Deadline, deadline)
	case ready:
		o.Ready++
	case failed:
		o.Failed++
	case broken:
		o.Broken++
	case waiting:
		o.Waiting++
	case unreachable:
		o.Unreachable++
	}
}

// earliest returns the earlier of two times. A zero time does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// grouped groups failed clusters by cause. The result does not depend on the order of the observations.
func grouped(allFailed []Observation, to string) []v1beta2.RolloutFailure {
	slices.SortFunc(allFailed, func(a, b Observation) int { return cmp.Compare(a.Kyma, b.Kyma) })
	groups := map[string]*v1beta2.RolloutFailure{}
	for _, observation := range allFailed {
		addFailure(groups, observation, to)
	}
	var failures []v1beta2.RolloutFailure
	for _, group := range groups {
		failures = append(failures, *group)
	}
	slices.SortFunc(failures, func(a, b v1beta2.RolloutFailure) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message),
			slices.Compare(a.Kymas, b.Kymas))
	})
	return failures[:min(len(failures), shownFailures)]
}

const (
	// shownFailures limits the groups of failures, and the deferring clusters, in the status. namedKymas limits the
	// named clusters of each group.
	shownFailures, namedKymas = 20, 5
	// shownMessage limits messages in the status, in bytes.
	shownMessage = 512
)

func cut(message string) string { return fault.Shorten(message, shownMessage) }

func addFailure(groups map[string]*v1beta2.RolloutFailure, s Observation, to string) {
	reason, message := s.Reason, s.Message
	switch {
	case s.isNotStarted(to):
		reason, message = ReasonNotStarted, "the version was released to the cluster but did not reach its Manifest in time"
	case s.State != shared.StateError && !s.Refused:
		reason = ReasonNotSettled
		message = cmp.Or(message, "the module did not become ready in time")
	}
	key := Signature(reason, message, s.Kyma)
	group := groups[key]
	if group == nil {
		group = &v1beta2.RolloutFailure{Reason: reason, Message: cut(message), Layer: s.Layer}
		groups[key] = group
	}
	group.Clusters++
	if len(group.Kymas) < namedKymas {
		group.Kymas = append(group.Kymas, s.Kyma)
	}
}

// varying matches the parts of a message that differ between clusters with the same problem: uids, digests, addresses,
// numbers, and hashes in the names of pods, which have letters that form no words.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{16,}\b|(-[b-df-hj-np-tv-xz2-9]{5,10})?-[b-df-hj-np-tv-xz2-9]{5}\b|[0-9]+`)

// Signature returns a text that is the same for failures of the same kind. It does not depend on the name of the Kyma.
func Signature(reason, message, kyma string) string {
	_, name, _ := strings.Cut(kyma, "/")
	if name != "" {
		message = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllLiteralString(message, "*")
	}
	return reason + ": " + varying.ReplaceAllString(message, "#")
}
