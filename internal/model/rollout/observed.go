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

// Observation is what is seen of one cluster that a rollout concerns.
type Observation struct {
	Cluster
	// Kyma is the cluster's, as namespace/name.
	Kyma string
	// Version is that of the module's Manifest, and State what the Manifest says for its present spec; both are empty where
	// it says nothing.
	Version string
	State   shared.State
	// Reason, Message and Layer say what is wrong with what.
	Reason, Message, Layer string
	// Refused is true where the version is not brought to the cluster at all, for Reason.
	Refused bool
	// Unreachable and Waits are true where the cluster cannot be updated for the moment, or not now.
	Unreachable, Waits bool
	// AwaitsRegistry is true where the module's layers cannot be fetched for the moment, since the registry does not answer or
	// asks for fewer requests: the version has not failed for that.
	AwaitsRegistry bool
	// Since is when the Manifest got its version, WasWell whether the module was well before.
	Since   time.Time
	WasWell bool
	// DeferredUntil is set where the cluster's owner put the version off: then Waits is true as well.
	DeferredUntil time.Time
	// FreeSince is since when the cluster can be updated again, where for a while it could not.
	FreeSince time.Time
}

// ReasonNotStarted is the reason of a failure: the version was released to a cluster, and its Manifest did not get it in
// time.
const ReasonNotStarted = "VersionNotApplied"

// ReasonNotSettled is the reason of a failure: the module did not become ready in time.
const ReasonNotSettled = "NotSettled"

// Observed is what is seen of all clusters that a rollout concerns.
type Observed struct {
	Stages []StageObserved
	// Failures are the clusters that failed, by what failed, most clusters first.
	Failures []v1beta2.RolloutFailure
	// Deferrals are the clusters whose owners put the version off, those whose time is over first.
	Deferrals []v1beta2.DeferredCluster
}

// StageObserved are the clusters of one stage.
type StageObserved struct {
	Total, Released, Updating, Ready, Failed, Broken, Waiting, Unreachable int32
	// Deferred is how many of those that wait were put off by their owners.
	Deferred int32
	// AwaitsRegistry is how many of those that are updating wait for the registry, and RegistrySays what it said to the first.
	AwaitsRegistry int32
	RegistrySays   string
	// NotStarted is how many of those that failed did not get the version at all.
	NotStarted int32
	// TakingBack is how many are on their way back.
	TakingBack int32
	// Pending and Done are the positions of those that are not released and of those that are, in order.
	Pending, Done []int64
	// Deadline is when the first of those that are updating has failed, or is not waited for any more on its way back.
	Deadline time.Time
}

// Observe counts.
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

// releasedAt is when clusters of a stage were last released, or taken back.
func releasedAt(r *v1beta2.ModuleRollout, stage int) time.Time {
	if stage < len(r.Status.Stages) && r.Status.Stages[stage].ReleasedAt != nil {
		return r.Status.Stages[stage].ReleasedAt.Time
	}
	return time.Time{}
}

// judgement is how a cluster is to which a version was released.
type judgement int

const (
	updating judgement = iota
	ready
	failed
	broken
	waiting
	unreachable
)

// judge tells how a cluster is. What is not settled by the deadline has failed; what was not well before, what cannot be
// reached and what waits for its own reasons has not.
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

// notUpdated is how a cluster is that did not get the new version, which might have repaired it.
func (s Observation) notUpdated() judgement {
	if s.Version == "" || s.State == shared.StateError {
		return broken
	}
	return failed
}

// isNotStarted tells of a cluster that failed whether nothing was tried there.
func (s Observation) isNotStarted(to string) bool { return s.Version != to && !s.Refused }

func (s Observation) bad() judgement {
	if s.WasWell {
		return failed
	}
	return broken
}

// isOnItsWayBack tells whether a cluster is being taken back to the version that it had.
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

// earliest is the earlier one of two times, of which zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// grouped are the clusters that failed, by what failed; in which order they were seen makes no difference.
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
	// shownFailures and namedKymas are how many groups of failures, and clusters that were put off, are shown, and how many
	// clusters of each group are named.
	shownFailures, namedKymas = 20, 5
	// shownMessage is how much of a message is shown, in bytes.
	shownMessage = 512
)

func cut(message string) string { return fault.Shorten(message, shownMessage) }

func addFailure(groups map[string]*v1beta2.RolloutFailure, s Observation, to string) {
	reason, message := s.Reason, s.Message
	switch {
	case s.isNotStarted(to):
		reason, message = ReasonNotStarted, "the version was released to the cluster, and did not reach its Manifest in time"
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

// varying are the parts of a message that differ from cluster to cluster though the same is wrong: uids, digests, hashes
// in the names of pods, which have letters that make no words, addresses, numbers.
var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{16,}\b|(-[b-df-hj-np-tv-xz2-9]{5,10})?-[b-df-hj-np-tv-xz2-9]{5}\b|[0-9]+`)

// Signature is the same for failures of the same kind, whatever the cluster is called.
func Signature(reason, message, kyma string) string {
	_, name, _ := strings.Cut(kyma, "/")
	if name != "" {
		message = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllLiteralString(message, "*")
	}
	return reason + ": " + varying.ReplaceAllString(message, "#")
}
