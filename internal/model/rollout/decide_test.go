package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// given are the arguments of Decide, for a rollout with the stages canary, early and rest. Each stage updates two
// clusters at once, may have one failure and settles within ten minutes.
type given struct {
	*v1beta2.ModuleRollout
	s Situation
}

// evaluation is one evaluation of a rollout. Its fleet has a letter per cluster, in hash order, and a slash between
// stages:
//
//	. not released   < not released, being reverted
//	u updating   r ready   b broken   w waiting   x unreachable
//	f failed in its own way   s failed in the same way as the other s
type evaluation struct {
	fleet string
	// at is the present stage.
	at   int32
	with []func(*given)

	phase v1beta2.RolloutPhase
	// released is how many clusters of each stage are released afterwards.
	released string
	// until is when to evaluate again, 0 means never. waits is a part of what the rollout waits for.
	until time.Duration
	waits string
}

const (
	// settles is when the first updating cluster fails. backs is when the revert no longer waits for a cluster.
	settles = 5 * time.Minute
	backs   = 4 * time.Minute
	within  = 10 * time.Minute
)

// evaluated is when Decide is called.
var evaluated = begun.Add(24 * time.Hour)

func positionOf(cluster int) int64 { return int64(cluster+1) * 10 }

// seen returns the observations of a fleet.
func seen(fleet string) Observed {
	o, same := Observed{}, v1beta2.RolloutFailure{Reason: "Crash", Message: "the pod crashes", Layer: "sha256:1"}
	for i, letters := range strings.Split(fleet, "/") {
		at := StageObserved{Total: int32(len(letters))}
		for j, letter := range letters {
			kyma := fmt.Sprintf("kcp-system/%d-%d", i, j)
			if letter == '.' || letter == '<' {
				at.Pending = append(at.Pending, positionOf(j))
				if letter == '<' {
					at.TakingBack++
					at.Deadline = evaluated.Add(backs)
				}
				continue
			}
			at.Released++
			at.Done = append(at.Done, positionOf(j))
			state := map[rune]judgement{'u': updating, 'r': ready, 'b': broken, 'w': waiting, 'x': unreachable, 'f': failed, 's': failed}[letter]
			at.add(state, evaluated.Add(settles))
			switch letter {
			case 'f':
				o.Failures = append(o.Failures, v1beta2.RolloutFailure{Reason: "Own", Message: "it fails on " + kyma, Clusters: 1, Kymas: []string{kyma}})
			case 's':
				same.Clusters++
				same.Kymas = append(same.Kymas, kyma)
			}
		}
		o.Stages = append(o.Stages, at)
	}
	if same.Clusters > 0 {
		o.Failures = append(o.Failures, same)
	}
	slices.SortStableFunc(o.Failures, func(a, b v1beta2.RolloutFailure) int { return cmp.Compare(b.Clusters, a.Clusters) })
	return o
}

// before is the rollout before the evaluation.
func (l evaluation) before() *given {
	r := rolloutOf(byLabel("canary"), byLabel("early"))
	r.Spec.Plan.Concurrency, r.Spec.Plan.MaxFailures = new(intstr.FromInt32(2)), new(intstr.FromInt32(1))
	r.Spec.Plan.SettleWithin = &metav1.Duration{Duration: within}
	r.Status.Stage = l.at
	fleets := strings.Split(l.fleet, "/")
	r.Status.Stages = make([]v1beta2.RolloutStageStatus, len(fleets))
	for i, letters := range fleets {
		done := strings.TrimRight(letters, ".<")
		if done != "" || i < int(l.at) {
			r.Status.StartedAt, r.Status.Phase = new(metav1.NewTime(begun)), v1beta2.RolloutProgressing
			r.Status.Stages[i].StartedAt, r.Status.Stages[i].ReleasedAt = r.Status.StartedAt, r.Status.StartedAt
		}
		if i != int(l.at) || done == "" {
			continue
		}
		if r.Status.Released = positionOf(len(done)-1) + 1; done == letters {
			r.Status.Released = Everyone
		}
	}
	g := &given{ModuleRollout: r, s: Situation{Now: evaluated, Desired: newer}}
	for _, with := range l.with {
		with(g)
	}
	return g
}

// releasedOf returns how many clusters of each stage a status releases.
func releasedOf(status v1beta2.ModuleRolloutStatus, o Observed) string {
	r := &v1beta2.ModuleRollout{Status: status}
	var counts []string
	for i, stage := range o.Stages {
		n := 0
		for _, position := range slices.Concat(stage.Done, stage.Pending) {
			if Released(r, Place{Stage: i, Position: position}) {
				n++
			}
		}
		counts = append(counts, fmt.Sprint(n))
	}
	return strings.Join(counts, "/")
}

// decide checks an evaluation, and what must hold after every evaluation.
func (l evaluation) decide(t *testing.T) v1beta2.ModuleRolloutStatus {
	t.Helper()
	g, o := l.before(), seen(l.fleet)
	unchanged := g.DeepCopy()
	status, until := Decide(g.ModuleRollout, o, g.s)
	require.Equal(t, unchanged, g.ModuleRollout, "Decide must not change its arguments")

	require.Equal(t, l.phase, status.Phase, status.WaitsFor)
	require.Equal(t, l.released, releasedOf(status, o))
	require.Contains(t, status.WaitsFor, l.waits)
	if l.until == 0 {
		require.Zero(t, until)
		require.Nil(t, status.WaitsUntil)
	} else {
		require.Equal(t, l.until, until.Sub(evaluated))
		require.Equal(t, l.until, status.WaitsUntil.Sub(evaluated))
	}
	hasEnded := (&v1beta2.ModuleRollout{Status: status}).HasEnded()
	require.Equal(t, hasEnded, status.CompletedAt != nil)
	require.Equal(t, hasEnded, status.WaitsFor == "", status.WaitsFor)
	require.Equal(t, hasEnded, status.WaitsSince == nil)
	require.Equal(t, int64(7), status.ObservedGeneration)
	if status.Phase == v1beta2.RolloutCompleted {
		require.Empty(t, status.StageName)
	} else {
		require.Equal(t, Stages(g.Spec.Plan)[status.Stage].Name, status.StageName)
	}
	require.NotNil(t, meta.FindStatusCondition(status.Conditions, ConditionReady))
	require.LessOrEqual(t, len(status.Conditions), 2)
	return status
}

func decideAll(t *testing.T, evaluations map[string]evaluation) {
	t.Helper()
	for name, l := range evaluations {
		t.Run(name, func(t *testing.T) { l.decide(t) })
	}
}

func with(all ...func(*given)) []func(*given) { return all }

func plan(change func(*v1beta2.RolloutPlan)) func(*given) {
	return func(g *given) { change(&g.Spec.Plan) }
}

func concurrency(value intstr.IntOrString) func(*given) {
	return plan(func(p *v1beta2.RolloutPlan) { p.Concurrency = &value })
}

func maxFailures(value intstr.IntOrString) func(*given) {
	return plan(func(p *v1beta2.RolloutPlan) { p.MaxFailures = &value })
}

func ofStage(i int, change func(*v1beta2.RolloutStage)) func(*given) {
	return func(g *given) { change(&g.Spec.Plan.Stages[i]) }
}

func accepted(n int32) func(*given) { return func(g *given) { g.Spec.AcceptFailures = n } }

func phase(p v1beta2.RolloutPhase) func(*given) { return func(g *given) { g.Status.Phase = p } }

func count(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

func percent(p string) intstr.IntOrString { return intstr.FromString(p) }

func TestReleasesOfClusters(t *testing.T) {
	onePlan := plan(func(p *v1beta2.RolloutPlan) { p.Stages = nil })
	defaults := plan(func(p *v1beta2.RolloutPlan) { *p = v1beta2.RolloutPlan{} })
	ownConcurrency := func(c intstr.IntOrString) func(*v1beta2.RolloutStage) {
		return func(s *v1beta2.RolloutStage) { s.Concurrency = &c }
	}
	ten, twenty := "..........", "...................."
	progressing, completed := v1beta2.RolloutProgressing, v1beta2.RolloutCompleted
	decideAll(t, map[string]evaluation{
		"first as many as may update":                  {fleet: "..../../..", phase: progressing, released: "2/0/0", until: within, waits: "the clusters of stage canary to settle"},
		"one for each that has settled":                {fleet: "ru../../..", phase: progressing, released: "3/0/0", until: settles, waits: "the clusters of stage canary to settle"},
		"none while the maximum is updating":           {fleet: "uu../../..", phase: progressing, released: "2/0/0", until: settles},
		"none while more than the maximum update":      {fleet: "uuu./../..", phase: progressing, released: "3/0/0", until: settles},
		"not in the next stage until all have settled": {fleet: "rrru/../..", phase: progressing, released: "4/0/0", until: settles, waits: "the clusters of stage canary to settle"},
		"in the next stage when all have settled":      {fleet: "rrrr/.../..", phase: progressing, released: "4/2/0", until: within, waits: "stage early"},
		"in the last stage when all have settled":      {fleet: "rr/rr/...", at: 1, phase: progressing, released: "2/2/2", until: within, waits: "stage rest"},
		"through stages without clusters":              {fleet: "//...", phase: progressing, released: "0/0/2", until: within, waits: "stage rest"},
		"in one stage if the plan has none":            {fleet: "...", with: with(onePlan), phase: progressing, released: "2", until: within, waits: "stage rest"},
		"to all, and it ends when they have settled":   {fleet: "rr/rr/rr", at: 2, phase: completed, released: "2/2/2"},
		"to no cluster, and it ends":                   {fleet: "//", phase: completed, released: "0/0/0"},
		"while a stage before has some that update":    {fleet: "ru/r../..", at: 1, phase: progressing, released: "2/3/0", until: within},
		"while failures are within the budget":         {fleet: "rf../../..", phase: progressing, released: "4/0/0", until: within},
		"while some are broken":                        {fleet: "bbb./../..", phase: progressing, released: "4/0/0", until: within},
		"while some wait":                              {fleet: "ww../../..", phase: progressing, released: "4/0/0", until: within},
		"while some are unreachable":                   {fleet: "xx../../..", phase: progressing, released: "4/0/0", until: within},
		"beyond a stage that waits or is unreachable":  {fleet: "wwxx/../..", phase: progressing, released: "4/2/0", until: within},
		"beyond a stage with failures and broken ones": {fleet: "fbrr/../..", phase: progressing, released: "4/2/0", until: within},
		"to the end, even if some are not healthy":     {fleet: "rf/bw/xx", at: 2, phase: completed, released: "2/2/2"},

		"as many as a percentage":               {fleet: ten + "/../..", with: with(concurrency(percent("50%"))), phase: progressing, released: "5/0/0", until: within},
		"as many as a percentage, rounded up":   {fleet: ten + "/../..", with: with(concurrency(percent("21%"))), phase: progressing, released: "3/0/0", until: within},
		"one at least":                          {fleet: "../../..", with: with(concurrency(percent("1%"))), phase: progressing, released: "1/0/0", until: within},
		"all of a stage":                        {fleet: ten + "/../..", with: with(concurrency(percent("100%"))), phase: progressing, released: "10/0/0", until: within},
		"not more than there are":               {fleet: "../../..", with: with(concurrency(count(100))), phase: progressing, released: "2/0/0", until: within},
		"a tenth by default":                    {fleet: twenty, with: with(defaults), phase: progressing, released: "2", until: defaultSettleWithin},
		"one if the number is invalid":          {fleet: "../../..", with: with(concurrency(percent("many"))), phase: progressing, released: "1/0/0", until: within},
		"as many as the stage says":             {fleet: ten + "/../..", with: with(ofStage(0, ownConcurrency(count(7)))), phase: progressing, released: "7/0/0", until: within},
		"as the stage says, in percent":         {fleet: ten + "/../..", with: with(ofStage(0, ownConcurrency(percent("35%")))), phase: progressing, released: "4/0/0", until: within},
		"as the second stage says, in that":     {fleet: "rr/..../..", with: with(ofStage(0, ownConcurrency(count(1))), ofStage(1, ownConcurrency(count(3)))), phase: progressing, released: "2/3/0", until: within},
		"a percentage of the stage, not of all": {fleet: "rr/" + ten + "/..", with: with(concurrency(percent("30%"))), phase: progressing, released: "2/3/0", until: within},
		"with the stage's own time to settle": {fleet: "../../..", with: with(ofStage(0, func(s *v1beta2.RolloutStage) {
			s.SettleWithin = &metav1.Duration{Duration: time.Hour}
		})), phase: progressing, released: "2/0/0", until: time.Hour},
	})
}

func TestTooManyFailuresHoldARollout(t *testing.T) {
	ownFailures := func(i int, f intstr.IntOrString) func(*given) {
		return ofStage(i, func(s *v1beta2.RolloutStage) { s.MaxFailures = &f })
	}
	defaults := plan(func(p *v1beta2.RolloutPlan) { *p = v1beta2.RolloutPlan{} })
	same := func(n int32) func(*given) { return func(g *given) { g.s.SameFailures = n } }
	many := maxFailures(count(10))
	progressing, held := v1beta2.RolloutProgressing, v1beta2.RolloutHeld
	decideAll(t, map[string]evaluation{
		"as many as may fail do not":             {fleet: "rf../../..", phase: progressing, released: "4/0/0", until: within},
		"one more does":                          {fleet: "rff./../..", phase: held, released: "3/0/0", waits: "2 of 4 clusters of stage canary failed with version 2.0.0 (allowed: 1): Own: it fails on kcp-system/0-1; on kcp-system/0-1. Repair them"},
		"one does if none may fail":              {fleet: "rf../../..", with: with(maxFailures(count(0))), phase: held, released: "2/0/0", waits: "1 of 4 clusters"},
		"one does if the number is invalid":      {fleet: "rf../../..", with: with(maxFailures(percent("some"))), phase: held, released: "2/0/0"},
		"as many as a percentage do not":         {fleet: "fff......./../..", with: with(maxFailures(percent("30%"))), phase: progressing, released: "5/0/0", until: within},
		"more than a percentage do":              {fleet: "ffff....../../..", with: with(maxFailures(percent("30%"))), phase: held, released: "4/0/0", waits: "allowed: 3"},
		"a percentage is rounded down":           {fleet: "ff......../../..", with: with(maxFailures(percent("19%"))), phase: held, released: "2/0/0", waits: "allowed: 1"},
		"a small percentage is none":             {fleet: "f........./../..", with: with(maxFailures(percent("9%"))), phase: held, released: "1/0/0", waits: "allowed: 0"},
		"none do if all may fail":                {fleet: "fffffffff./../..", with: with(maxFailures(percent("100%"))), phase: progressing, released: "10/0/0", until: within},
		"one of ten does by default":             {fleet: "f.........", with: with(defaults), phase: held, released: "1", waits: "allowed: 0"},
		"one of twenty does not by default":      {fleet: "f...................", with: with(defaults), phase: progressing, released: "3", until: defaultSettleWithin},
		"two of twenty do by default":            {fleet: "ff..................", with: with(defaults), phase: held, released: "2", waits: "allowed: 1"},
		"fewer do if the stage says so":          {fleet: "rf../../..", with: with(ownFailures(0, count(0))), phase: held, released: "2/0/0", waits: "allowed: 0"},
		"more do not if the stage says so":       {fleet: "rff./../..", with: with(ownFailures(0, percent("50%"))), phase: progressing, released: "4/0/0", until: within},
		"another stage's number does not matter": {fleet: "rff./../..", with: with(ownFailures(1, count(3))), phase: held, released: "3/0/0"},
		"each stage may have its own":            {fleet: "rf/rf../..", at: 1, phase: progressing, released: "2/4/0", until: within},
		"failures of an earlier stage do":        {fleet: "rff/r.../..", at: 1, phase: held, released: "3/1/0", waits: "2 of 3 clusters of stage canary"},
		"before the next stage begins":           {fleet: "rrff/../..", phase: held, released: "4/0/0"},
		"before the end":                         {fleet: "rr/rr/ff", at: 2, phase: held, released: "2/2/2", waits: "stage rest"},
		"broken clusters do not":                 {fleet: "bbbb....../../..", with: with(maxFailures(count(0))), phase: progressing, released: "6/0/0", until: within},

		"three equal ones do, before the budget is spent": {fleet: "sss......./../..", with: with(many), phase: held, released: "3/0/0",
			waits: "3 clusters failed in the same way with version 2.0.0 (sha256:1): Crash: the pod crashes; on kcp-system/0-0, kcp-system/0-1, kcp-system/0-2. Repair them"},
		"two equal ones do not":                   {fleet: "ss......../../..", with: with(many), phase: progressing, released: "4/0/0", until: within},
		"different ones do not":                   {fleet: "ffffff..../../..", with: with(many), phase: progressing, released: "8/0/0", until: within},
		"equal ones in several stages do":         {fleet: "ss/s../..", at: 1, with: with(many), phase: held, released: "2/1/0", waits: "3 clusters failed in the same way"},
		"as many equal ones as are configured do": {fleet: "ss......../../..", with: with(many, same(2)), phase: held, released: "2/0/0", waits: "2 clusters failed in the same way"},
		"fewer equal ones than configured do not": {fleet: "ssss....../../..", with: with(many, same(5)), phase: progressing, released: "6/0/0", until: within},
		"ones without a layer do":                 {fleet: "f........./../..", with: with(many, same(1)), phase: held, released: "1/0/0", waits: "(no layer)"},

		"an accepted one does not":                 {fleet: "rff./../..", with: with(accepted(1)), phase: progressing, released: "4/0/0", until: within},
		"one more than accepted does":              {fleet: "rfff/../..", with: with(accepted(1)), phase: held, released: "4/0/0", waits: "allowed: 2"},
		"an accepted equal one does not":           {fleet: "sss......./../..", with: with(many, accepted(1)), phase: progressing, released: "5/0/0", until: within},
		"one equal one more than accepted does":    {fleet: "ssss....../../..", with: with(many, accepted(1)), phase: held, released: "4/0/0"},
		"accepted ones do not stop its completion": {fleet: "rr/rr/ff", at: 2, with: with(accepted(1)), phase: v1beta2.RolloutCompleted, released: "2/2/2"},
		"no longer when they have recovered":       {fleet: "rr../../..", with: with(phase(held)), phase: progressing, released: "4/0/0", until: within},
		"until they recover":                       {fleet: "rff./../..", with: with(phase(held)), phase: held, released: "3/0/0"},
	})
}

func TestAReleasedStageIncludesNewClusters(t *testing.T) {
	wholly := evaluation{fleet: "rr../../..", phase: v1beta2.RolloutProgressing, released: "4/0/0", until: within}.decide(t)
	require.Equal(t, Everyone, wholly.Released)
	partly := evaluation{fleet: "rr.../../..", phase: v1beta2.RolloutProgressing, released: "4/0/0", until: within}.decide(t)
	require.Equal(t, positionOf(3)+1, partly.Released)
}

func TestTheStatusShowsTheObservedCounts(t *testing.T) {
	l := evaluation{fleet: "rrrfbwxu/rr../..", at: 1, with: with(func(g *given) { g.Status.Stages[0].Bound = 77 }), phase: v1beta2.RolloutProgressing, released: "8/4/0", until: within}
	status := l.decide(t)
	require.Equal(t, "5/14", status.Progress)
	started := new(metav1.NewTime(begun))
	require.Equal(t, v1beta2.RolloutStageStatus{
		Name: "canary", Bound: 77, Total: 8, Released: 8, Updating: 1, Ready: 3, Failed: 1, Broken: 1, Waiting: 1, Unreachable: 1, StartedAt: started, ReleasedAt: started,
	}, status.Stages[0])
	require.Equal(t, v1beta2.RolloutStageStatus{
		Name: "early", Total: 4, Released: 4, Updating: 2, Ready: 2, StartedAt: started, FirstReleasedAt: new(metav1.NewTime(evaluated)), ReleasedAt: new(metav1.NewTime(evaluated)),
	}, status.Stages[1], "including the clusters released now")
	require.Equal(t, v1beta2.RolloutStageStatus{Name: "rest", Total: 2}, status.Stages[2])
	require.Equal(t, "early", status.StageName)
	require.Equal(t, seen(l.fleet).Failures, status.Failures)
}

func TestTimesOfARolloutAreKept(t *testing.T) {
	l := evaluation{fleet: "../../..", phase: v1beta2.RolloutProgressing, released: "2/0/0", until: within}
	g := l.before()
	at := func(after time.Duration, fleet string) v1beta2.ModuleRolloutStatus {
		g.s.Now = evaluated.Add(after + 300*time.Millisecond)
		g.Status, _ = Decide(g.ModuleRollout, seen(fleet), g.s)
		return g.Status
	}
	since := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(evaluated.Add(after))) }

	first := at(0, "../../..")
	require.Equal(t, since(0), first.StartedAt, "in whole seconds, as they are stored")
	require.Equal(t, since(0), first.WaitsSince)
	require.Equal(t, since(0), first.Stages[0].ReleasedAt)

	same := at(time.Minute, "uu/../..")
	require.Equal(t, first.WaitsFor, same.WaitsFor)
	require.Equal(t, since(0), same.WaitsSince, "the wait is the same")

	less := at(2*time.Minute, "ru/../..")
	require.Equal(t, since(0), less.WaitsSince, "the wait is the same, with less time left")
	require.Nil(t, less.Stages[0].SettledAt)

	next := at(3*time.Minute, "rr/../..")
	require.Equal(t, since(3*time.Minute), next.WaitsSince, "the wait is a new one")
	require.Equal(t, since(3*time.Minute), next.Stages[0].SettledAt)
	require.Equal(t, since(3*time.Minute), next.Stages[0].SoakedAt)
	require.Equal(t, since(3*time.Minute), next.Stages[1].StartedAt)
	require.Equal(t, since(0), next.Stages[0].ReleasedAt)

	last := at(4*time.Minute, "rr/rr/..")
	require.Equal(t, since(4*time.Minute), last.Stages[2].ReleasedAt)
	require.Equal(t, "4/6", last.Progress)

	end := at(5*time.Minute, "rr/rr/rr")
	require.Equal(t, v1beta2.RolloutCompleted, end.Phase)
	require.Equal(t, since(0), end.StartedAt)
	require.Equal(t, since(5*time.Minute), end.CompletedAt)
	require.Equal(t, end, at(time.Hour, "rr/rr/rr"))
	require.Equal(t, "5/6", at(2*time.Hour, "rr/rr/rf").Progress, "observed counts are shown even then")
	require.Equal(t, since(5*time.Minute), g.Status.CompletedAt)
}

func TestWaitsForIsLimitedInSizeAndHasTheRemedy(t *testing.T) {
	names := []string{strings.Repeat("a", 300), strings.Repeat("b", 300), strings.Repeat("c", 300)}
	failures := []v1beta2.RolloutFailure{{Reason: "Reason", Message: cut(strings.Repeat("ü", 10_000)), Clusters: 3, Kymas: names}}
	d := &decider{Situation: Situation{SameFailures: 3}, rollout: &v1beta2.ModuleRollout{}, o: Observed{Failures: failures}}
	why, _ := d.failing()
	d.hold(why)
	require.Less(t, len(d.status.WaitsFor), maxWaitsFor)
	require.Contains(t, d.status.WaitsFor, " and 2 more. ", "the remedy follows")
	d.hold(strings.Repeat("x", 1<<20))
	require.Len(t, d.status.WaitsFor, maxWaitsFor)
}
