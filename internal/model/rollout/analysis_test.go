package rollout

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// analysed is one evaluation of a rollout. Its stage canary has two clusters and two queries: errors (at most 0.05) and
// up (at least 1). Another stage follows.
type analysed struct {
	// fleet is as in evaluation; the default is rr/..
	fleet string
	with  []func(*given)
	// errors and up are the answers of Prometheus.
	errors, up Answer

	asked bool
	phase v1beta2.RolloutPhase
	// released is as in evaluation.
	released string
	// until is when to evaluate again, shown is when the status says.
	until, shown time.Duration
	// waits is a part of what the rollout waits for. states are the states of both queries.
	waits, states string
}

func values(all ...float64) Answer {
	a := Answer{Samples: []Sample{}}
	for i, value := range all {
		a.Samples = append(a.Samples, Sample{Series: `{pod="` + string(rune('a'+i)) + `"}`, Value: value})
	}
	return a
}

func scalar(value float64) Answer { return Answer{Samples: []Sample{{Value: value}}} }

func noAnswer(why string) Answer { return Answer{Problem: why} }

var (
	noData = Answer{}
	down   = noAnswer("no answer from Prometheus within 10s")
)

// query changes the first of the two queries.
func query(change func(*v1beta2.RolloutAnalysis)) func(*given) {
	return ofStage(0, func(s *v1beta2.RolloutStage) { change(&s.Analysis[0]) })
}

func noDataPasses(q *v1beta2.RolloutAnalysis) { q.OnNoData = v1beta2.NoDataPass }

func skipAnalysis(stages ...string) func(*given) {
	return func(g *given) { g.Spec.SkipAnalysis = stages }
}

func reverts(g *given) { g.Spec.Plan.OnFailure = v1beta2.RolloutRevert }

// was sets the results of the queries an hour ago.
func was(errors, up v1beta2.RolloutAnalysisStatus) func(*given) {
	return func(g *given) {
		errors.Name, up.Name = "errors", "up"
		errors.Since, up.Since = new(metav1.NewTime(evaluated.Add(-time.Hour))), new(metav1.NewTime(evaluated.Add(-time.Hour)))
		g.Status.Stages[0].Analysis = []v1beta2.RolloutAnalysisStatus{errors, up}
	}
}

func state(s v1beta2.AnalysisState, value string) v1beta2.RolloutAnalysisStatus {
	return v1beta2.RolloutAnalysisStatus{State: s, Value: value}
}

func queries() []v1beta2.RolloutAnalysis {
	return []v1beta2.RolloutAnalysis{{Name: "errors", Query: "errors", Max: "0.05"}, {Name: "up", Query: "up", Min: "1"}}
}

func (a analysed) given() (*given, Observed) {
	if a.fleet == "" {
		a.fleet = "rr/.."
	}
	first := func(g *given) {
		g.Spec.Plan.Stages = g.Spec.Plan.Stages[:1]
		g.Spec.Plan.Stages[0].Analysis = queries()
	}
	return evaluation{fleet: a.fleet, with: append([]func(*given){first}, a.with...)}.before(), seen(a.fleet)
}

func (a analysed) decide(t *testing.T) v1beta2.ModuleRolloutStatus {
	t.Helper()
	g, o := a.given()
	unchanged := g.DeepCopy()
	ask := ToAsk(g.ModuleRollout, o, g.s)
	require.Equal(t, a.asked, ask != nil)
	if ask != nil {
		require.Equal(t, 0, ask.Stage)
		g.s.Analyses = map[int]Analysis{0: {At: evaluated, Answers: []Answer{a.errors, a.up}}}
		require.Nil(t, ToAsk(g.ModuleRollout, o, g.s), "nothing is left to ask")
	}
	status, until := Decide(g.ModuleRollout, o, g.s)
	require.Equal(t, unchanged, g.ModuleRollout)
	require.Equal(t, a.phase, status.Phase, status.WaitsFor)
	require.Equal(t, a.released, releasedOf(status, o))
	require.Contains(t, status.WaitsFor, a.waits)
	if a.until == 0 {
		require.Zero(t, until)
	} else {
		require.Equal(t, a.until, until.Sub(evaluated))
	}
	if a.shown == 0 {
		require.Nil(t, status.WaitsUntil)
	} else {
		require.Equal(t, a.shown, status.WaitsUntil.Sub(evaluated))
	}
	var states []string
	for _, s := range status.Stages[0].Analysis {
		states = append(states, string(s.State))
	}
	require.Equal(t, a.states, strings.Join(states, " "))
	return status
}

func TestAStageEndsOnlyIfItsAnalysisPasses(t *testing.T) {
	hour, half := soak(time.Hour), settled(30*time.Minute, 0)
	const every = 5 * time.Minute
	progressing, soaking, held := v1beta2.RolloutProgressing, v1beta2.RolloutSoaking, v1beta2.RolloutHeld
	const passed, failed, waits = "Passed Passed", "Failed Passed", "Waiting Passed"
	good, bad := scalar(0.01), scalar(0.07)
	wasBad := was(state(v1beta2.AnalysisFailed, "0.06"), state(v1beta2.AnalysisPassed, "1"))
	interval := plan(func(p *v1beta2.RolloutPlan) { p.AnalysisInterval = &metav1.Duration{Duration: time.Minute} })
	ownInterval := func(d time.Duration) func(*given) {
		return ofStage(0, func(s *v1beta2.RolloutStage) { s.AnalysisInterval = &metav1.Duration{Duration: d} })
	}
	for name, a := range map[string]analysed{
		"it is not asked before the stage has settled": {fleet: "ru/..", phase: progressing, released: "2/0", until: settles, shown: settles},
		"it is not asked while too many failed":        {fleet: "ff/..", phase: held, released: "2/0", waits: "2 of 2 clusters"},
		"it is not asked while paused":                 {with: with(func(g *given) { g.Spec.Paused = true }), phase: v1beta2.RolloutPaused, released: "2/0"},
		"it is not asked of a stage that is over":      {with: with(hour, soaked(2*time.Hour), approval(0, v1beta2.RolloutApprovalRule{When: v1beta2.ApproveAfter})), phase: v1beta2.RolloutAwaitingApproval, released: "2/0"},
		"without a soak time it is asked once":         {asked: true, errors: good, up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"the bounds themselves pass":                   {asked: true, errors: scalar(0.05), up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"each of several values must pass":             {asked: true, errors: values(0, 0.05), up: values(1, 2, 3), phase: progressing, released: "2/2", until: within, shown: within, states: passed},

		"it is asked when the soak time begins":    {with: with(hour), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: every, shown: time.Hour, states: passed},
		"it is asked every interval of the plan":   {with: with(hour, half, interval), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: time.Minute, shown: 30 * time.Minute, states: passed},
		"it is asked every interval of the stage":  {with: with(hour, half, interval, ownInterval(2*time.Minute)), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: 2 * time.Minute, shown: 30 * time.Minute, states: passed},
		"no interval is too short":                 {with: with(hour, half, ownInterval(time.Second)), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: 30 * time.Second, shown: 30 * time.Minute, states: passed},
		"it is asked at the end rather than later": {with: with(hour, settled(58*time.Minute, 0)), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: 2 * time.Minute, shown: 2 * time.Minute, states: passed},
		"the stage is over at the end exactly":     {with: with(hour, settled(time.Hour, 0)), asked: true, errors: good, up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"a failure exactly at the end holds":       {with: with(hour, settled(time.Hour, 0)), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed},
		"without an answer it soaks":               {with: with(hour, half), asked: true, errors: down, up: scalar(1), phase: soaking, released: "2/0", until: every, shown: 30 * time.Minute, states: waits},
		"without a soak time it is asked":          {with: with(hour, half, skipSoak("canary")), asked: true, errors: good, up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},

		"too high a value holds":                {asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "query errors of stage canary returns 0.07 with version 2.0.0; allowed: at most 0.05. The rollout continues when the query passes again (asked every 5m0s)."},
		"too low a value holds":                 {asked: true, errors: good, up: scalar(0), phase: held, released: "2/0", until: every, states: "Passed Failed", waits: "query up of stage canary returns 0 with version 2.0.0; allowed: at least 1"},
		"a value outside of two bounds holds":   {with: with(query(func(q *v1beta2.RolloutAnalysis) { q.Min = "-1.5" })), asked: true, errors: scalar(-2), up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "returns -2 with version 2.0.0; allowed: -1.5 to 0.05"},
		"an infinite value holds":               {asked: true, errors: scalar(math.Inf(1)), up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "returns +Inf"},
		"one of several values holds":           {asked: true, errors: values(0, 0.3, 0, 0.4), up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: `returns 0.3 for {pod="b"} and 1 more of 4 with`},
		"one fails and one is missing: held":    {asked: true, errors: bad, up: noData, phase: held, released: "2/0", until: every, states: "Failed Waiting"},
		"one fails: reverted":                   {with: with(reverts), asked: true, errors: bad, up: scalar(1), phase: v1beta2.RolloutReverting, released: "0/0", until: within, shown: within, states: failed},
		"one fails, not revertible: held":       {with: with(reverts, func(g *given) { g.s.NotRevertible = "the data is migrated" }), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "clusters cannot be reverted: the data is migrated. The rollout continues"},
		"accepted failures do not count for it": {with: with(accepted(5)), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "spec.skipAnalysis"},

		"a held one continues when it passes":     {with: with(phase(held), wasBad), asked: true, errors: good, up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"its soak time begins again then":         {with: with(hour, half, phase(held), wasBad), asked: true, errors: good, up: scalar(1), phase: soaking, released: "2/0", until: every, shown: time.Hour, states: passed},
		"a held one stays while it fails":         {with: with(phase(held), wasBad), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "returns 0.06"},
		"a held one stays without an answer":      {with: with(phase(held), wasBad), asked: true, errors: down, up: scalar(1), phase: held, released: "2/0", until: every, states: failed},
		"a held one stays without data":           {with: with(phase(held), wasBad), asked: true, errors: noData, up: scalar(1), phase: held, released: "2/0", until: every, states: failed},
		"a held one follows an edit of its bound": {with: with(phase(held), wasBad, query(func(q *v1beta2.RolloutAnalysis) { q.Max = "0.065" })), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed, waits: "returns 0.07 with version 2.0.0; allowed: at most 0.065"},

		"no data waits":                           {asked: true, errors: noData, up: scalar(1), phase: soaking, released: "2/0", until: every, states: waits, waits: "the analysis of stage canary, query errors, asked every 5m0s: the query returns no value. To continue without it, set spec.skipAnalysis"},
		"NaN waits":                               {asked: true, errors: scalar(math.NaN()), up: scalar(1), phase: soaking, released: "2/0", until: every, states: waits},
		"one NaN of several values waits":         {asked: true, errors: values(0, math.NaN()), up: scalar(1), phase: soaking, released: "2/0", until: every, states: waits},
		"no data passes if configured":            {with: with(query(noDataPasses)), asked: true, errors: noData, up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"NaN passes if configured":                {with: with(query(noDataPasses)), asked: true, errors: scalar(math.NaN()), up: scalar(1), phase: progressing, released: "2/2", until: within, shown: within, states: passed},
		"no answer waits":                         {asked: true, errors: down, up: scalar(1), phase: soaking, released: "2/0", until: every, states: waits, waits: "no answer from Prometheus within 10s"},
		"no answer waits even if no data passes":  {with: with(query(noDataPasses)), asked: true, errors: down, up: scalar(1), phase: soaking, released: "2/0", until: every, states: waits},
		"no answer does not revert clusters":      {with: with(reverts), asked: true, errors: down, up: down, phase: soaking, released: "2/0", until: every, states: "Waiting Waiting"},
		"without a Prometheus it waits":           {with: with(func(g *given) { g.s.NoAnalysis = "no Prometheus is configured" }), phase: soaking, released: "2/0", until: every, states: "Waiting Waiting", waits: "query errors, asked every 5m0s: no Prometheus is configured"},
		"without a Prometheus a failed one stays": {with: with(wasBad, func(g *given) { g.s.NoAnalysis = "no Prometheus is configured" }), phase: held, released: "2/0", until: every, states: "Failed Waiting"},

		"it is not asked if it is skipped":      {with: with(skipAnalysis("canary")), phase: progressing, released: "2/2", until: within, shown: within},
		"it is not asked if all are skipped":    {with: with(hour, skipAnalysis("*")), phase: soaking, released: "2/0", until: time.Hour, shown: time.Hour},
		"it is asked if another is skipped":     {with: with(skipAnalysis("rest")), asked: true, errors: bad, up: scalar(1), phase: held, released: "2/0", until: every, states: failed},
		"a held one continues if it is skipped": {with: with(phase(held), wasBad, skipAnalysis("canary")), phase: progressing, released: "2/2", until: within, shown: within, states: failed},
	} {
		t.Run(name, func(t *testing.T) { a.decide(t) })
	}
}

func TestTheStatusKeepsTheFirstValueOfAState(t *testing.T) {
	then := new(metav1.NewTime(evaluated.Add(-time.Hour)))
	now := new(metav1.NewTime(evaluated))
	passed, failed, waiting := v1beta2.AnalysisPassed, v1beta2.AnalysisFailed, v1beta2.AnalysisWaiting
	other := state(passed, "1")
	for name, c := range map[string]struct {
		before  v1beta2.RolloutAnalysisStatus
		answer  Answer
		changes func(*v1beta2.RolloutAnalysis)
		after   v1beta2.RolloutAnalysisStatus
	}{
		"another good value":           {state(passed, "0.01"), scalar(0.02), nil, v1beta2.RolloutAnalysisStatus{State: passed, Value: "0.01", Since: then}},
		"another bad value":            {state(failed, "0.06"), scalar(0.2), nil, v1beta2.RolloutAnalysisStatus{State: failed, Value: "0.06", Since: then}},
		"a bad value":                  {state(passed, "0.01"), scalar(0.2), nil, v1beta2.RolloutAnalysisStatus{State: failed, Value: "0.2", Since: now}},
		"a value after none":           {v1beta2.RolloutAnalysisStatus{State: passed, Message: "the query returns no value"}, scalar(0), nil, v1beta2.RolloutAnalysisStatus{State: passed, Value: "0", Since: then}},
		"none after a value":           {state(passed, "0"), noData, noDataPasses, v1beta2.RolloutAnalysisStatus{State: passed, Message: "the query returns no value", Since: then}},
		"another port of no answer":    {v1beta2.RolloutAnalysisStatus{State: waiting, Message: "dial 10.0.0.1:1234"}, noAnswer("dial 10.0.0.1:4321"), nil, v1beta2.RolloutAnalysisStatus{State: waiting, Message: "dial 10.0.0.1:1234", Since: then}},
		"another reason for no answer": {v1beta2.RolloutAnalysisStatus{State: waiting, Message: "dial 10.0.0.1:1234"}, noData, nil, v1beta2.RolloutAnalysisStatus{State: waiting, Message: "the query returns no value", Since: then}},
		"a long reason":                {state(passed, "0"), noAnswer(strings.Repeat("x", 5000)), nil, v1beta2.RolloutAnalysisStatus{State: waiting, Message: strings.Repeat("x", shownMessage-len("…")) + "…", Since: now}},
	} {
		change := func(*v1beta2.RolloutAnalysis) {}
		if c.changes != nil {
			change = c.changes
		}
		g, o := analysed{with: with(was(c.before, other), query(change))}.given()
		g.s.Analyses = map[int]Analysis{0: {At: evaluated, Answers: []Answer{c.answer, scalar(1)}}}
		status, _ := Decide(g.ModuleRollout, o, g.s)
		c.after.Name = "errors"
		require.Equal(t, c.after, status.Stages[0].Analysis[0], name)
	}
}

func TestAskingAgainDoesNotChangeTheStatus(t *testing.T) {
	for name, answer := range map[string]func(i int) Answer{
		"good values": func(i int) Answer { return scalar(0.01 * float64(i%3)) },
		"bad values":  func(i int) Answer { return scalar(1 + float64(i)) },
		"no answer":   func(int) Answer { return down },
	} {
		g, o := analysed{with: with(soak(24 * time.Hour))}.given()
		var first v1beta2.ModuleRolloutStatus
		for i := range 20 {
			g.s.Now = evaluated.Add(time.Duration(i) * 5 * time.Minute)
			g.s.Analyses = map[int]Analysis{0: {At: g.s.Now, Answers: []Answer{answer(i), scalar(1)}}}
			g.Status, _ = Decide(g.ModuleRollout, o, g.s)
			if i == 0 {
				first = g.Status
			}
			require.Equal(t, first, g.Status, name)
		}
	}
}

func TestRecentAnswersAreUsed(t *testing.T) {
	g, o := analysed{with: with(soak(time.Hour), settled(30*time.Minute, 0))}.given()
	ask := ToAsk(g.ModuleRollout, o, g.s)
	at := func(ago time.Duration) Analysis { return Analysis{At: evaluated.Add(-ago), Answers: make([]Answer, 2)} }
	require.True(t, ask.Takes(at(0), evaluated))
	require.True(t, ask.Takes(at(4*time.Minute), evaluated))
	require.False(t, ask.Takes(at(5*time.Minute), evaluated), "the interval is over")
	require.False(t, ask.Takes(Analysis{At: evaluated, Answers: make([]Answer, 1)}, evaluated), "the queries differ")

	g.s.Analyses = map[int]Analysis{0: {At: evaluated.Add(-4 * time.Minute), Answers: []Answer{scalar(0), scalar(1)}}}
	_, until := Decide(g.ModuleRollout, o, g.s)
	require.Equal(t, time.Minute, until.Sub(evaluated), "the interval begins when the queries were sent")

	g, o = analysed{with: with(soak(time.Hour), settled(time.Hour, 0))}.given()
	ask = ToAsk(g.ModuleRollout, o, g.s)
	require.False(t, ask.Takes(at(time.Minute), evaluated), "the soak time was not over then")

	g, o = analysed{}.given()
	require.False(t, ToAsk(g.ModuleRollout, o, g.s).Takes(at(time.Minute), evaluated), "the stage had not settled then")
}

func TestPlaceholdersInQueriesAreEscaped(t *testing.T) {
	g, o := analysed{with: with(query(func(q *v1beta2.RolloutAnalysis) {
		q.Query = `up{m="$module", v='$version', c="$channel", s="$stage", x="$modules $ $$stage $__rate_interval"}`
	}))}.given()
	g.Spec.ModuleName, g.Spec.To = `sample"} or vector(1) #'`+"`", "1.0.0-rc.1+build"
	g.s.Desired = g.Spec.To
	require.Equal(t,
		`up{m="sample\x22\x7d\x20or\x20vector\x281\x29\x20\x23\x27\x60", v='1.0.0-rc.1+build', c="regular", s="canary", x="$modules $ $canary $__rate_interval"}`,
		ToAsk(g.ModuleRollout, o, g.s).Queries[0])
}

func TestAStageAfterAnotherIsAskedInTheSameStep(t *testing.T) {
	g, o := analysed{fleet: "rr/"}.given()
	g.Spec.Plan.Stages = append(g.Spec.Plan.Stages, v1beta2.RolloutStage{Name: "rest", Analysis: queries()[:1]})
	g.s.Analyses = map[int]Analysis{0: {At: evaluated, Answers: []Answer{scalar(0), scalar(1)}}}
	ask := ToAsk(g.ModuleRollout, o, g.s)
	require.Equal(t, 1, ask.Stage)
	require.Len(t, ask.Queries, 1)
	g.s.Analyses[1] = Analysis{At: evaluated, Answers: []Answer{scalar(0)}}
	require.Nil(t, ToAsk(g.ModuleRollout, o, g.s))
	status, _ := Decide(g.ModuleRollout, o, g.s)
	require.Equal(t, v1beta2.RolloutCompleted, status.Phase)
}

func TestAStageEndsOnlyIfItPassesDuringItsWholeSoakTime(t *testing.T) {
	over, heldOnce := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 17))
		g, o := analysed{with: with(soak(20 * time.Minute))}.given()
		known, lastBad := Analysis{}, evaluated
		for range 200 {
			asked := false
			if ask := ToAsk(g.ModuleRollout, o, g.s); ask != nil && !ask.Takes(known, g.s.Now) {
				answer := []Answer{scalar(0), scalar(0), scalar(0), scalar(0), scalar(0), scalar(1), noData, down}[random.IntN(8)]
				known, asked = Analysis{At: g.s.Now, Answers: []Answer{answer, scalar(1)}}, true
				if len(answer.Samples) > 0 && answer.Samples[0].Value > 0 {
					lastBad = g.s.Now
				}
			}
			g.s.Analyses = map[int]Analysis{0: known}
			status, until := Decide(g.ModuleRollout, o, g.s)
			if status.Stage > 0 {
				require.True(t, asked, "seed %d: it is asked at the end", seed)
				require.Zero(t, known.Answers[0].Samples[0].Value, "seed %d", seed)
				require.GreaterOrEqual(t, g.s.Now.Sub(lastBad), 20*time.Minute, "seed %d", seed)
				over++
				break
			}
			g.Status = status
			again, same := Decide(g.ModuleRollout, o, g.s)
			require.Equal(t, status, again, "seed %d: a second decision is the same", seed)
			require.Equal(t, until, same, "seed %d", seed)
			require.True(t, until.After(g.s.Now) && !until.After(g.s.Now.Add(5*time.Minute)), "seed %d: it asks again", seed)
			if status.Phase == v1beta2.RolloutHeld {
				heldOnce++
			}
			g.s.Now, g.s.Analyses = g.s.Now.Add(time.Duration(1+random.IntN(300))*time.Second), nil
			if random.IntN(2) == 0 || g.s.Now.After(until) {
				g.s.Now = until
			}
		}
	}
	require.Greater(t, over, 200)
	require.Positive(t, heldOnce)
}
