package rollout

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Situation has the facts that a rollout depends on, besides its clusters.
type Situation struct {
	Now time.Time
	// Superseded is true if there is a newer rollout of the same channel.
	Superseded bool
	// Desired is the version that the ModuleReleaseMeta assigns to the channel; empty if it assigns none.
	Desired string
	// NotRevertible says why clusters cannot be reverted; empty if they can.
	NotRevertible string
	// Urgency is the urgency of the version. Only its promotion depends on it.
	Urgency
	// SameFailures is how many clusters may fail in the same way before the rollout is held, whatever its failure
	// budget is.
	SameFailures int32
	// NoApprovals says why approvals are not possible; empty if they are.
	NoApprovals string
	// NoAnalysis says why queries cannot be sent; empty if they can.
	NoAnalysis string
	// Analyses are the answers to the queries that ToAsk returned, by the position of the stage.
	Analyses map[int]Analysis
}

// DefaultSameFailures is how many equal failures hold a rollout by default.
const DefaultSameFailures = 3

// Decide returns the next status of a rollout, and when to decide again if nothing changes; zero means never. It
// releases the version to clusters of one stage, no more at once than may be updating. It starts the next stage when
// the present one has settled, soaked and been approved. It reverts in reverse order. While a stage is analyzed, the
// returned time is earlier than the time in the status, which would otherwise change each time.
func Decide(r *v1beta2.ModuleRollout, o Observed, s Situation) (v1beta2.ModuleRolloutStatus, time.Time) {
	d := decide(r, o, s)
	return d.status, d.until
}

func decide(r *v1beta2.ModuleRollout, o Observed, s Situation) *decider {
	d := &decider{rollout: r, o: o, Situation: s, status: *r.Status.DeepCopy(), stages: Stages(r.Spec.Plan)}
	d.now = metav1.NewTime(s.Now.UTC().Truncate(time.Second))
	d.count()
	if !r.HasEnded() {
		d.next()
	}
	d.status.ObservedGeneration = r.Generation
	d.status.StageName = ""
	if stage := int(d.status.Stage); stage < len(d.stages) && d.status.Phase != v1beta2.RolloutCompleted {
		d.status.StageName = d.stages[stage].Name
	}
	d.setConditions()
	return d
}

type decider struct {
	Situation
	rollout *v1beta2.ModuleRollout
	o       Observed
	stages  []v1beta2.RolloutStage
	status  v1beta2.ModuleRolloutStatus
	now     metav1.Time
	until   time.Time
	// ask are the queries that must be answered before anything else can be decided.
	ask *Ask
	// remedies says what people can do about a hold that clusters did not cause.
	remedies string
}

// count writes the observed counts into the status.
func (d *decider) count() {
	before := d.status.Stages
	d.status.Stages = make([]v1beta2.RolloutStageStatus, len(d.stages))
	ready, total := int32(0), int32(0)
	for i, stage := range d.stages {
		st := &d.status.Stages[i]
		if i < len(before) {
			*st = before[i]
		}
		seen := d.o.Stages[i]
		st.Name, st.Total, st.Released, st.Updating, st.Ready = stage.Name, seen.Total, seen.Released, seen.Updating, seen.Ready
		st.Failed, st.Broken, st.Waiting, st.Deferred, st.Unreachable = seen.Failed, seen.Broken, seen.Waiting, seen.Deferred, seen.Unreachable
		ready, total = ready+seen.Ready, total+seen.Total
	}
	d.status.Progress = fmt.Sprintf("%d/%d", ready, total)
	d.status.Failures, d.status.Deferrals = d.o.Failures, d.o.Deferrals
}

func (d *decider) next() {
	spec := d.rollout.Spec
	switch {
	case d.Superseded:
		d.end(v1beta2.RolloutSuperseded)
	case spec.From == spec.To:
		d.status.Stage, d.status.Released = int32(len(d.stages)), 0 //nolint:gosec // 17 at most
		d.end(v1beta2.RolloutCompleted)
	case spec.Abort:
		d.end(v1beta2.RolloutAborted)
	case d.status.Phase == v1beta2.RolloutReverting || d.status.Reverts:
		d.takeBack()
	case spec.Revert != "":
		d.beginRevert(spec.Revert, "spec.revert is set")
	case d.Desired == "" && !d.isFirst():
		d.wait(v1beta2.RolloutHeld, fmt.Sprintf("the ModuleReleaseMeta of module %s no longer gives %s a version: add one, or delete this rollout", spec.ModuleName, d.channel()), time.Time{})
	case d.isFirst() && d.Desired != spec.To:
		d.wait(v1beta2.RolloutPending, fmt.Sprintf("the ModuleReleaseMeta of module %s to give %s the version %s", spec.ModuleName, d.channel(), spec.To), time.Time{})
	case d.Desired != spec.To:
		d.wait(v1beta2.RolloutPending, fmt.Sprintf("the rollout of version %s, which the ModuleReleaseMeta of module %s gives %s now", d.Desired, spec.ModuleName, d.channel()), time.Time{})
	case spec.Paused:
		d.wait(v1beta2.RolloutPaused, "spec.paused to be set to false", time.Time{})
	default:
		if why, bad := d.failing(); why != "" {
			d.react(why, bad)
			return
		}
		d.advance()
	}
}

// isFirst reports whether the rollout has no policy and has not started.
func (d *decider) isFirst() bool { return d.rollout.IsByHand() && d.status.StartedAt == nil }

func (d *decider) channel() string {
	if d.rollout.Spec.Channel == "" {
		return "all clusters"
	}
	return "channel " + d.rollout.Spec.Channel
}

// failing returns why the rollout must not continue; empty if it may. Bad is true if the new version itself failed, and
// false if it did not reach the clusters.
func (d *decider) failing() (why string, bad bool) {
	accepted := d.rollout.Spec.AcceptFailures
	for _, f := range d.o.Failures {
		if same := cmp.Or(d.SameFailures, DefaultSameFailures) + accepted; f.Clusters >= same {
			return fmt.Sprintf("%d clusters failed in the same way with version %s (%s): %s: %s; on %s",
				f.Clusters, d.rollout.Spec.To, cmp.Or(f.Layer, "no layer"), f.Reason, f.Message, fault.List(f.Kymas, ", ", maxKymas)), f.Reason != ReasonNotStarted
		}
	}
	for i, stage := range d.o.Stages {
		if plan := planOf(d.rollout.Spec, i, stage.Total); stage.Failed > plan.maxFailures+accepted {
			first := d.o.Failures[0]
			return fmt.Sprintf("%d of %d clusters of stage %s failed with version %s (allowed: %d): %s: %s; on %s",
					stage.Failed, stage.Total, plan.Name, d.rollout.Spec.To, plan.maxFailures+accepted, first.Reason, first.Message, fault.List(first.Kymas, ", ", maxKymas)),
				stage.Failed-stage.NotStarted > plan.maxFailures+accepted
		}
	}
	return "", false
}

// react holds the rollout. If the version is bad and the plan says so, it reverts clusters instead.
func (d *decider) react(why string, bad bool) {
	if bad && d.rollout.Spec.Plan.OnFailure == v1beta2.RolloutRevert {
		d.beginRevert(cmp.Or(d.rollout.Spec.Plan.RevertScope, v1beta2.RevertAll), why)
		return
	}
	d.hold(why)
}

// hold holds the rollout until people act or the clusters recover.
func (d *decider) hold(why string) {
	remedies := cmp.Or(d.remedies, "Repair them, give the channel another version, or set spec.acceptFailures, spec.revert or spec.abort")
	d.wait(v1beta2.RolloutHeld, why+". "+remedies, time.Time{})
}

func (d *decider) beginRevert(scope v1beta2.RevertScope, why string) {
	if d.NotRevertible != "" {
		d.hold(why + "; clusters cannot be reverted: " + d.NotRevertible)
		return
	}
	d.status.Reverts, d.status.RevertTo = true, 0
	if scope == v1beta2.RevertStage {
		d.status.RevertTo = d.status.Stage
	}
	d.takeBack()
}

// advance releases the version and starts stages, as far as possible now.
func (d *decider) advance() {
	if d.status.StartedAt == nil {
		d.status.StartedAt = &d.now
	}
	for int(d.status.Stage) < len(d.stages) {
		i := int(d.status.Stage)
		st, plan := &d.status.Stages[i], planOf(d.rollout.Spec, i, d.o.Stages[i].Total)
		if st.StartedAt == nil {
			st.StartedAt = &d.now
		}
		if d.status.Released == 0 && !d.isApproved(plan, v1beta2.ApproveBefore, st.StartedAt) ||
			!d.release(st, plan) || !d.soak(st, plan) || !d.isApproved(plan, v1beta2.ApproveAfter, st.SoakedAt) {
			return
		}
		d.status.Stage, d.status.Released = d.status.Stage+1, 0
	}
	d.end(v1beta2.RolloutCompleted)
}

// release releases the version to more clusters of a stage, up to the number that may be updating at once. It reports
// whether all clusters have settled.
func (d *decider) release(st *v1beta2.RolloutStageStatus, plan stagePlan) bool {
	seen := d.o.Stages[d.status.Stage]
	pending := seen.Pending
	for len(pending) > 0 && pending[0] < d.status.Released {
		pending = pending[1:]
	}
	room := int(plan.concurrency - seen.Updating)
	if seen.AwaitsRegistry > 0 {
		room = 0 // more clusters would cause more requests to the registry
	}
	if n := min(room, len(pending)); n > 0 {
		d.status.Released = pending[n-1] + 1
		st.ReleasedAt, st.SettledAt, st.SoakedAt = &d.now, nil, nil
		st.FirstReleasedAt = cmp.Or(st.FirstReleasedAt, &d.now)
		st.Released, st.Updating = st.Released+int32(n), st.Updating+int32(n) //nolint:gosec // a number of clusters
		pending = pending[n:]
		seen.Deadline = earliest(seen.Deadline, d.now.Add(plan.settleWithin))
	}
	if len(pending) == 0 {
		d.status.Released = Everyone // for new clusters too
	}
	if len(pending) == 0 && st.Updating == 0 {
		return true
	}
	st.SettledAt, st.SoakedAt = nil, nil
	what := fmt.Sprintf("the clusters of stage %s to settle", plan.Name)
	if seen.AwaitsRegistry > 0 {
		what = fmt.Sprintf("the registry, for which %d clusters of stage %s wait: %s", seen.AwaitsRegistry, plan.Name, seen.RegistrySays)
	}
	d.wait(v1beta2.RolloutProgressing, what, seen.Deadline)
	return false
}

// soak waits until a stage has been healthy for its soak time. The time starts again if a cluster or a query fails.
func (d *decider) soak(st *v1beta2.RolloutStageStatus, plan stagePlan) bool {
	st.FailedWhenSettled = min(st.FailedWhenSettled, st.Failed) // without clusters that have recovered
	if st.SettledAt == nil || st.Failed > st.FailedWhenSettled {
		st.SettledAt, st.FailedWhenSettled, st.SoakedAt = &d.now, st.Failed, nil
	}
	state, again := d.analyse(st, plan)
	if state == v1beta2.AnalysisFailed {
		return false
	}
	switch over := st.SettledAt.Add(plan.soak); {
	case d.Now.Before(over):
		d.wait(v1beta2.RolloutSoaking, fmt.Sprintf("the clusters of stage %s to stay well for %s", plan.Name, plan.soak), over)
	case state == v1beta2.AnalysisWaiting:
		d.waitForAnalysis(st, plan)
	default:
		st.SoakedAt = cmp.Or(st.SoakedAt, &d.now)
		return true
	}
	d.until = earliest(d.until, again)
	return false
}

// isApproved reports whether enough people have approved that the rollout continues.
func (d *decider) isApproved(plan stagePlan, when v1beta2.ApprovalTime, since *metav1.Time) bool {
	rule := plan.Approval
	if rule == nil || cmp.Or(rule.When, v1beta2.ApproveBefore) != when {
		return true
	}
	waits := d.missingApproval(d.rollout, plan.Name, rule.Persons, "stage "+plan.Name, fmt.Sprintf(", %s it", when))
	if waits == "" {
		return true
	}
	if rule.Expires == nil {
		d.wait(v1beta2.RolloutAwaitingApproval, waits, time.Time{})
		return false
	}
	until := since.Add(rule.Expires.Duration)
	if d.Now.Before(until) {
		d.wait(v1beta2.RolloutAwaitingApproval, waits, until)
		return false
	}
	why := fmt.Sprintf("stage %s was not approved within %s", plan.Name, rule.Expires.Duration)
	switch cmp.Or(rule.OnExpiry, v1beta2.ExpiryHold) {
	case v1beta2.ExpiryProceed:
		return true
	case v1beta2.ExpiryRevert:
		d.beginRevert(cmp.Or(d.rollout.Spec.Plan.RevertScope, v1beta2.RevertAll), why)
	case v1beta2.ExpiryHold:
		d.wait(v1beta2.RolloutHeld, why+": approve it, or set spec.revert or spec.abort", time.Time{})
	}
	return false
}

// takeBack reverts clusters from the last released to the first, no more at once than may be updating.
func (d *decider) takeBack() {
	onTheWay, until := int32(0), time.Time{}
	for _, stage := range d.o.Stages {
		if stage.TakingBack > 0 {
			onTheWay, until = onTheWay+stage.TakingBack, earliest(until, stage.Deadline)
		}
	}
	for {
		i := int(d.status.Stage)
		if i >= len(d.stages) {
			d.status.Stage, d.status.Released = d.status.Stage-1, Everyone
			continue
		}
		st, plan := &d.status.Stages[i], planOf(d.rollout.Spec, i, d.o.Stages[i].Total)
		done := d.o.Stages[i].Done
		for len(done) > 0 && done[len(done)-1] >= d.status.Released {
			done = done[:len(done)-1]
		}
		if n := min(int(plan.concurrency-onTheWay), len(done)); n > 0 {
			d.status.Released = done[len(done)-n]
			done = done[:len(done)-n]
			st.ReleasedAt, st.SettledAt, st.SoakedAt = &d.now, nil, nil
			onTheWay, until = onTheWay+int32(n), earliest(until, d.now.Add(plan.settleWithin)) //nolint:gosec // a number of clusters
		}
		if len(done) > 0 || onTheWay > 0 && d.status.Stage == d.status.RevertTo {
			if len(done) == 0 {
				d.status.Released = 0
			}
			d.wait(v1beta2.RolloutReverting, "the clusters to go back to version "+d.rollout.Spec.From, until)
			return
		}
		d.status.Released = 0
		if d.status.Stage == d.status.RevertTo {
			d.end(v1beta2.RolloutReverted)
			return
		}
		d.status.Stage, d.status.Released = d.status.Stage-1, Everyone
	}
}

const (
	// maxWaitsFor is the maximum size of status.waitsFor in bytes, and maxKymas of the Kymas that it names.
	maxWaitsFor, maxKymas = 2 << 10, 256
)

// wait records what the rollout waits for, and until when; zero means until people act.
func (d *decider) wait(phase v1beta2.RolloutPhase, what string, until time.Time) {
	what = fault.Shorten(what, maxWaitsFor)
	if d.status.WaitsFor != what || d.status.WaitsSince == nil {
		d.status.WaitsSince = &d.now
	}
	d.status.Phase, d.status.WaitsFor, d.status.WaitsUntil, d.until = phase, what, nil, until
	if !until.IsZero() {
		d.status.WaitsUntil = &metav1.Time{Time: until}
	}
}

func (d *decider) end(phase v1beta2.RolloutPhase) {
	d.status.Phase, d.status.CompletedAt = phase, &d.now
	d.status.WaitsFor, d.status.WaitsSince, d.status.WaitsUntil, d.until = "", nil, nil, time.Time{}
}
