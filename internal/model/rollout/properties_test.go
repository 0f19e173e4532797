package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// behaviour is what a simulated cluster does with a version.
type behaviour int

const (
	settling   behaviour = iota // becomes ready
	crashing                    // has an error in the new version
	stuck                       // never becomes ready in the new version
	refusing                    // does not get the new version
	ignoring                    // never gets the new version, and no reason is known
	ailing                      // has an error in the old version, and may have an error in the new one
	away                        // cannot be reached
	closed                      // waits for its own reasons
	newcomer                    // has no version yet
	flapping                    // becomes ready, and then not ready for a moment
	behaviours = 10
)

// simulated is a cluster of a simulation.
type simulated struct {
	Observation
	behaviour behaviour
	// starts is how many evaluations pass before the cluster begins, takes how many it then needs to become ready, and
	// flaps how often it becomes not ready again.
	starts, takes, flaps int
	waited, worked       int
	released             bool
	takenBack            time.Time
	// place is the cluster's place at the last evaluation, and wanted the version that the last status gives it.
	place  Place
	wanted string
	by     progress
}

// progress has the facts that the version of a cluster depends on.
type progress struct {
	stage     int32
	released  int64
	reverts   bool
	installed string
}

// simulation is one rollout over a fleet, without Kubernetes.
type simulation struct {
	t           *testing.T
	seed        uint64
	random      *rand.Rand
	rollout     *v1beta2.ModuleRollout
	fleet       []*simulated
	now         time.Time
	evaluations int
	situated    Situation
	// calm means that only the rollout changes clusters, well that no cluster fails.
	calm, well bool
}

func (s *simulation) oneOf(n int) bool { return s.random.IntN(n) == 0 }

func (s *simulation) minutes(from, to int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(from+s.random.IntN(to-from+1)) * time.Minute}
}

func (s *simulation) share(atLeast int) *intstr.IntOrString {
	if s.oneOf(2) {
		return new(intstr.FromInt(atLeast + s.random.IntN(8)))
	}
	return new(intstr.FromString(fmt.Sprintf("%d%%", atLeast+s.random.IntN(60))))
}

// slowest is the longest time that a cluster takes to become ready. It is shorter than a stage allows.
const slowest = 8

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 42)), now: begun, well: seed%2 == 0, calm: seed%3 != 0}
	s.rollout = rolloutOf(s.stages()...)
	plan := &s.rollout.Spec.Plan
	plan.Concurrency, plan.MaxFailures, plan.SettleWithin, plan.Soak = s.share(1), s.share(0), s.minutes(2*slowest+2, 40), s.minutes(0, 90)
	if s.oneOf(2) {
		plan.OnFailure, plan.RevertScope = v1beta2.RolloutRevert, []v1beta2.RevertScope{"", v1beta2.RevertAll, v1beta2.RevertStage}[s.random.IntN(3)]
	}
	s.situated = Situation{Desired: newer, SameFailures: int32(s.random.IntN(5))}
	if s.oneOf(10) {
		s.situated.NotRevertible = "the data is migrated"
	}
	labelled := map[int]string{}
	n := s.random.IntN(40)
	if s.oneOf(10) {
		n = s.random.IntN(201)
	}
	for i := range n {
		labelled[i] = []string{"canary", "early", "", "", ""}[s.random.IntN(5)]
	}
	for _, c := range fleetOf(n, labelled) {
		c.UID += types.UID(fmt.Sprint(seed))
		s.fleet = append(s.fleet, s.cluster(c))
	}
	return s
}

func (s *simulation) stages() []v1beta2.RolloutStage {
	var stages []v1beta2.RolloutStage
	for _, stage := range []v1beta2.RolloutStage{byLabel("canary"), byCount(int32(1 + s.random.IntN(20))), byPercent(int32(1 + s.random.IntN(100))), byLabel("early"), {Name: "others"}} {
		if s.oneOf(2) {
			continue
		}
		if s.oneOf(3) {
			stage.Concurrency, stage.MaxFailures, stage.Soak = s.share(1), s.share(0), s.minutes(0, 30)
		}
		if s.oneOf(4) {
			stage.Approval = &v1beta2.RolloutApprovalRule{
				When: []v1beta2.ApprovalTime{"", v1beta2.ApproveBefore, v1beta2.ApproveAfter}[s.random.IntN(3)], Persons: int32(s.random.IntN(3)),
			}
			if s.oneOf(2) {
				stage.Approval.Expires = s.minutes(1, 60)
				stage.Approval.OnExpiry = []v1beta2.ExpiryReaction{"", v1beta2.ExpiryProceed, v1beta2.ExpiryHold, v1beta2.ExpiryRevert}[s.random.IntN(4)]
			}
		}
		stages = append(stages, stage)
	}
	return stages
}

func (s *simulation) cluster(c Cluster) *simulated {
	one := &simulated{
		Observation: Observation{Cluster: c, Kyma: "kcp-system/" + string(c.UID), Version: older, State: shared.StateReady, WasWell: true},
		starts:      s.random.IntN(slowest), takes: s.random.IntN(slowest),
	}
	if s.oneOf(3) {
		one.behaviour = behaviour(s.random.IntN(behaviours))
	}
	fails := one.behaviour == crashing || one.behaviour == stuck || one.behaviour == refusing || one.behaviour == ignoring
	// The time of a cluster that did not begin starts again when others are released: the cluster counts as updating
	// again.
	if changes := one.behaviour == flapping || one.behaviour == ignoring; s.well && fails || s.calm && changes {
		one.behaviour = settling
	}
	switch one.behaviour {
	case ailing:
		one.State, one.WasWell = shared.StateError, false
	case newcomer:
		one.Version, one.State, one.WasWell = "", "", false
	case flapping:
		one.flaps, one.takes = 1+s.random.IntN(2), s.random.IntN(3)
	case refusing:
		one.Refused, one.Reason, one.Message = true, "NoTemplate", fmt.Sprintf("there is no template for %s", c.UID)
	case away:
		one.Unreachable = true
	case closed:
		one.Waits = true
	case settling, crashing, stuck, ignoring:
	}
	return one
}

// step is what a cluster does between two evaluations. It reports whether the cluster did something.
func (s *simulation) step(c *simulated) bool {
	if !s.calm && (c.behaviour == away || c.behaviour == closed) && s.oneOf(20) {
		c.Unreachable, c.Waits = c.behaviour == away && !c.Unreachable, c.behaviour == closed && !c.Waits
	}
	r := s.rollout
	if by := (progress{r.Status.Stage, r.Status.Released, r.Status.Reverts, c.Version}); c.wanted == "" || c.by != by {
		c.wanted, c.by = VersionFor(InForce([]*v1beta2.ModuleRollout{r}, "regular", newer), newer, c.Cluster, c.Version).Version, by
	}
	switch {
	case c.Unreachable, c.Waits, c.wanted == newer && (c.behaviour == refusing || c.behaviour == ignoring):
		return false
	case c.Version != c.wanted:
		c.waited++
		if c.waited > c.starts {
			c.Version, c.State, c.Since, c.waited, c.worked = c.wanted, shared.StateProcessing, s.now, 0, 0
		}
		return true
	case c.State != shared.StateProcessing:
		if c.flaps == 0 || c.Version != newer {
			return false
		}
		c.flaps, c.worked, c.State = c.flaps-1, 0, shared.StateProcessing
		return true
	case c.behaviour == stuck && c.Version == newer:
		return false
	}
	c.worked++
	if c.worked <= c.takes {
		return true
	}
	c.State = shared.StateReady
	if c.Version == newer && (c.behaviour == crashing || c.behaviour == ailing && c.takes > slowest/2) {
		c.State, c.Reason, c.Message = shared.StateError, "Crash", fmt.Sprintf("pod %d of %s crashes", c.takes, c.UID)
		if c.behaviour == crashing && c.takes%2 == 0 {
			c.Message = fmt.Sprintf("it fails as on no other than %s", [...]string{"a", "b", "c", "d", "e"}[c.takes/2])
		}
	}
	return true
}

// act is what people do when the rollout waits for them.
func (s *simulation) act(status v1beta2.ModuleRolloutStatus) {
	spec := &s.rollout.Spec
	switch {
	case spec.Paused:
		spec.Paused = false
	case s.oneOf(50):
		spec.Paused = true
	case status.Phase == v1beta2.RolloutAwaitingApproval && s.oneOf(2),
		status.Phase == v1beta2.RolloutHeld && s.well:
		spec.Approvals = append(spec.Approvals, v1beta2.RolloutApproval{Stage: status.StageName, By: fmt.Sprint("person ", s.random.IntN(3))})
	case status.Phase == v1beta2.RolloutHeld && s.situated.NotRevertible != "" && s.oneOf(2):
		spec.Abort = true
	case status.Phase == v1beta2.RolloutHeld && s.oneOf(3):
		spec.Revert = []v1beta2.RevertScope{v1beta2.RevertAll, v1beta2.RevertStage}[s.random.IntN(2)]
	case status.Phase == v1beta2.RolloutHeld:
		spec.AcceptFailures++
	}
}

// evaluation evaluates the fleet once, records the decision, and checks it.
func (s *simulation) evaluation() time.Time {
	clusters, observations := make([]Cluster, len(s.fleet)), make([]Observation, len(s.fleet))
	for i, at := range s.random.Perm(len(s.fleet)) {
		clusters[i], observations[i] = s.fleet[at].Cluster, s.fleet[at].Observation
	}
	r := s.rollout
	FixBounds(r, clusters)
	s.situated.Now = s.now
	before, o := r.Status, Observe(r, observations, s.now)
	status, until := Decide(r, o, s.situated)
	r.Status = status
	s.evaluations++
	place := PlaceFunc(r)
	for _, c := range s.fleet {
		c.place = place(c.Cluster)
	}
	s.check(before, o, until)
	return until
}

func (s *simulation) check(before v1beta2.ModuleRolloutStatus, o Observed, until time.Time) {
	r := s.rollout
	wholly, some := make([]bool, len(o.Stages)), make([]bool, len(o.Stages))
	for i := range wholly {
		wholly[i] = true
	}
	grew, goBack, most := make([]int, len(o.Stages)), 0, 0
	for _, c := range s.fleet {
		ok, stage := Released(r, c.place), c.place.Stage
		if ok != c.released {
			require.NotEqual(s.t, ok, r.Status.Reverts, "seed %d: %s is released in a revert, or is not any more without one", s.seed, c.Kyma)
		}
		if ok && !c.released {
			grew[stage]++
		}
		if !ok && c.released {
			c.takenBack = s.now
		}
		if !ok && c.goesBack(s.now) {
			goBack++
		}
		c.released, wholly[stage], some[stage] = ok, wholly[stage] && ok, some[stage] || ok
	}
	all := true
	for i, stage := range o.Stages {
		require.True(s.t, all || !some[i], "seed %d: stage %d is released before earlier stages", s.seed, i)
		all = all && wholly[i]
		at := int(planOf(r.Spec, i, stage.Total).concurrency)
		most = max(most, at)
		if grew[i] > 0 {
			require.LessOrEqual(s.t, int(stage.Updating)+grew[i], at, "seed %d: too many are updating in stage %d", s.seed, i)
		}
		if s.calm && !r.Status.Reverts {
			require.LessOrEqual(s.t, int(stage.Updating), at, "seed %d: too many are updating in stage %d", s.seed, i)
			require.LessOrEqual(s.t, s.busy(i), at, "seed %d: too many are not ready at once in stage %d", s.seed, i)
		}
	}
	if s.calm {
		require.LessOrEqual(s.t, goBack, most, "seed %d: too many go back", s.seed)
	}
	switch status := r.Status; {
	case r.HasEnded():
		require.Zero(s.t, until, "seed %d", s.seed)
		require.Empty(s.t, status.WaitsFor, "seed %d", s.seed)
	default:
		require.NotEmpty(s.t, status.WaitsFor, "seed %d", s.seed)
		require.Equal(s.t, until.IsZero(), status.WaitsUntil == nil, "seed %d", s.seed)
		goesOn := status.Phase == v1beta2.RolloutProgressing || status.Phase == v1beta2.RolloutSoaking || status.Phase == v1beta2.RolloutReverting
		require.True(s.t, !goesOn || until.After(s.now), "seed %d: %s without a time to evaluate again", s.seed, status.Phase)
		if status.Phase == v1beta2.RolloutProgressing {
			require.Positive(s.t, status.Stages[status.Stage].Updating, "seed %d: it waits for no cluster", s.seed)
		}
	}
	require.False(s.t, before.Reverts && !r.Status.Reverts, "seed %d: a revert must not end by itself", s.seed)
}

// goesBack reports whether a cluster is being reverted and has not arrived yet.
func (c *simulated) goesBack(now time.Time) bool {
	return !c.takenBack.IsZero() && now.Before(c.takenBack.Add(2*slowest*time.Minute)) && !c.Unreachable && !c.Waits &&
		(c.Version == newer || c.Version == older && c.State == shared.StateProcessing)
}

// busy returns how many clusters of a stage work on the new version.
func (s *simulation) busy(stage int) int {
	n := 0
	for _, c := range s.fleet {
		if c.place.Stage == stage && c.Version == newer && c.State == shared.StateProcessing && c.behaviour != stuck {
			n++
		}
	}
	return n
}

// quiet checks that evaluating again changes nothing before the next time at which something is due.
func (s *simulation) quiet(until time.Time) {
	now := s.now
	for range 2*len(s.fleet) + 20 {
		s.now = s.now.Add(time.Second)
		if !until.IsZero() && !s.now.Before(until) {
			s.now = now
			return
		}
		before := s.rollout.Status
		until = s.evaluation()
		if equality.Semantic.DeepEqual(before, s.rollout.Status) {
			return
		}
	}
	require.Fail(s.t, "each evaluation changes something", "seed %d: %+v", s.seed, s.rollout.Status)
}

// run evaluates until the rollout has ended, whenever clusters or people did something or the next time is due.
func (s *simulation) run() {
	most := 200 + 40*len(s.fleet)
	for s.evaluations < most && !s.rollout.HasEnded() {
		until := s.evaluation()
		if s.oneOf(15) && !s.rollout.HasEnded() {
			s.quiet(until)
		}
		s.act(s.rollout.Status)
		moved := false
		for _, c := range s.fleet {
			moved = s.step(c) || moved
		}
		if s.now = s.now.Add(time.Minute); !moved && until.After(s.now) && !s.oneOf(4) {
			s.now = until
		}
	}
	require.True(s.t, s.rollout.HasEnded(), "seed %d: it does not end, but waits for %s", s.seed, s.rollout.Status.WaitsFor)
}

func TestInvariantsOfRollouts(t *testing.T) {
	ends := map[v1beta2.RolloutPhase]int{}
	for seed := range uint64(300) {
		s := newSimulation(t, seed)
		s.run()
		r := s.rollout
		ends[r.Status.Phase]++
		for _, c := range s.fleet {
			has := VersionFor(InForce([]*v1beta2.ModuleRollout{r}, "regular", newer), newer, c.Cluster, newer).Version
			if r.Status.Phase == v1beta2.RolloutReverted {
				isKept := int32(c.place.Stage) < r.Status.RevertTo
				require.Equal(t, isKept, has == newer, "seed %d: %s after a revert", seed, c.Kyma)
			}
			if r.Status.Phase != v1beta2.RolloutCompleted {
				continue
			}
			require.Equal(t, newer, has, "seed %d: %s at the end", seed, c.Kyma)
			if s.calm && (c.behaviour == settling || c.behaviour == newcomer) {
				require.Equal(t, newer, c.Version, "seed %d: %s at the end", seed, c.Kyma)
				require.Equal(t, shared.StateReady, c.State, "seed %d: %s at the end", seed, c.Kyma)
			}
		}
		if s.well && s.calm && !expiresIntoARevert(r) {
			require.Equal(t, v1beta2.RolloutCompleted, r.Status.Phase, "seed %d: no cluster fails", seed)
		}
	}
	for _, phaseIs := range []v1beta2.RolloutPhase{v1beta2.RolloutCompleted, v1beta2.RolloutReverted, v1beta2.RolloutAborted} {
		require.Positive(t, ends[phaseIs], "each end must occur: %v", ends)
	}
}

func expiresIntoARevert(r *v1beta2.ModuleRollout) bool {
	for _, stage := range r.Spec.Plan.Stages {
		if stage.Approval != nil && stage.Approval.OnExpiry == v1beta2.ExpiryRevert {
			return true
		}
	}
	return false
}
