package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func soak(d time.Duration) func(*given) {
	return plan(func(p *v1beta2.RolloutPlan) { p.Soak = &metav1.Duration{Duration: d} })
}

func ownSoak(i int, d time.Duration) func(*given) {
	return ofStage(i, func(s *v1beta2.RolloutStage) { s.Soak = &metav1.Duration{Duration: d} })
}

func skipSoak(stages ...string) func(*given) { return func(g *given) { g.Spec.SkipSoak = stages } }

// settled sets that the present stage settled so long ago, with so many failed clusters.
func settled(ago time.Duration, failed int32) func(*given) {
	return func(g *given) {
		at := &g.Status.Stages[g.Status.Stage]
		at.SettledAt, at.FailedWhenSettled = new(metav1.NewTime(evaluated.Add(-ago))), failed
	}
}

// soaked sets that the soak time of the present stage ended so long ago.
func soaked(ago time.Duration) func(*given) {
	return func(g *given) {
		settled(ago, 0)(g)
		g.Status.Stages[g.Status.Stage].SoakedAt = g.Status.Stages[g.Status.Stage].SettledAt
	}
}

// reached sets how long ago a stage began.
func reached(i int, ago time.Duration) func(*given) {
	return func(g *given) { g.Status.Stages[i].StartedAt = new(metav1.NewTime(evaluated.Add(-ago))) }
}

func approval(i int, rule v1beta2.RolloutApprovalRule) func(*given) {
	return ofStage(i, func(s *v1beta2.RolloutStage) { s.Approval = &rule })
}

// approved sets that these persons approved a stage.
func approved(stage string, by ...string) func(*given) {
	return func(g *given) {
		for _, person := range by {
			g.Spec.Approvals = append(g.Spec.Approvals, v1beta2.RolloutApproval{Stage: stage, By: person})
		}
	}
}

func noApprovals(why string) func(*given) { return func(g *given) { g.s.NoApprovals = why } }

func TestAStageSoaks(t *testing.T) {
	soaking, progressing, hour := v1beta2.RolloutSoaking, v1beta2.RolloutProgressing, soak(time.Hour)
	decideAll(t, map[string]evaluation{
		"from when it has settled":            {fleet: "rrrr/../..", with: with(hour), phase: soaking, released: "4/0/0", until: time.Hour, waits: "the clusters of stage canary to stay well for 1h0m0s"},
		"until its time is over":              {fleet: "rrrr/../..", with: with(hour, settled(20*time.Minute, 0)), phase: soaking, released: "4/0/0", until: 40 * time.Minute},
		"not longer":                          {fleet: "rrrr/.../..", with: with(hour, settled(time.Hour, 0)), phase: progressing, released: "4/2/0", until: within},
		"not before all have settled":         {fleet: "rrru/../..", with: with(hour), phase: progressing, released: "4/0/0", until: settles},
		"for its own time":                    {fleet: "rrrr/../..", with: with(hour, ownSoak(0, 2*time.Hour)), phase: soaking, released: "4/0/0", until: 2 * time.Hour},
		"not if its own time is zero":         {fleet: "rrrr/.../..", with: with(hour, ownSoak(0, 0)), phase: progressing, released: "4/2/0", until: within},
		"not for the time of another":         {fleet: "rrrr/.../..", with: with(ownSoak(1, time.Hour)), phase: progressing, released: "4/2/0", until: within},
		"not if it is skipped":                {fleet: "rrrr/.../..", with: with(hour, skipSoak("canary")), phase: progressing, released: "4/2/0", until: within},
		"not if all are skipped":              {fleet: "rrrr/.../..", with: with(hour, settled(time.Minute, 0), skipSoak("*")), phase: progressing, released: "4/2/0", until: within},
		"if only others are skipped":          {fleet: "rrrr/../..", with: with(hour, skipSoak("early", "rest")), phase: soaking, released: "4/0/0", until: time.Hour},
		"before the rollout ends":             {fleet: "rr/rr/rr", at: 2, with: with(hour), phase: soaking, released: "2/2/2", until: time.Hour, waits: "stage rest"},
		"not at the end if it is skipped":     {fleet: "rr/rr/rr", at: 2, with: with(hour, skipSoak("rest")), phase: v1beta2.RolloutCompleted, released: "2/2/2"},
		"even without clusters":               {fleet: "/../..", with: with(hour), phase: soaking, released: "0/0/0", until: time.Hour},
		"again after a failure":               {fleet: "rrrf/../..", with: with(hour, settled(50*time.Minute, 0)), phase: soaking, released: "4/0/0", until: time.Hour},
		"not again for the earlier failure":   {fleet: "rrrf/../..", with: with(hour, settled(50*time.Minute, 1)), phase: soaking, released: "4/0/0", until: 10 * time.Minute},
		"not again for a recovered cluster":   {fleet: "rrrr/../..", with: with(hour, settled(50*time.Minute, 1)), phase: soaking, released: "4/0/0", until: 10 * time.Minute},
		"again after a failure after its end": {fleet: "rrrf/../..", with: with(hour, soaked(2*time.Hour), approval(0, v1beta2.RolloutApprovalRule{When: v1beta2.ApproveAfter})), phase: soaking, released: "4/0/0", until: time.Hour},
		"not while one updates again":         {fleet: "rrru/../..", with: with(hour, settled(50*time.Minute, 0)), phase: progressing, released: "4/0/0", until: settles},
		"not if too many failed":              {fleet: "rrff/../..", with: with(hour, settled(50*time.Minute, 0)), phase: v1beta2.RolloutHeld, released: "4/0/0"},
	})
}

func TestAFailureAfterARepairRestartsTheSoakTime(t *testing.T) {
	l := evaluation{fleet: "rrrr/../..", with: with(soak(time.Hour), settled(50*time.Minute, 1)), phase: v1beta2.RolloutSoaking, released: "4/0/0", until: 10 * time.Minute}
	repaired := l.decide(t)
	l.fleet, l.until, l.with = "rrfr/../..", time.Hour, append(l.with, func(g *given) { g.Status = repaired })
	require.Equal(t, int32(1), l.decide(t).Stages[0].FailedWhenSettled)
}

func TestAStageThatUpdatesAgainIsNotSettled(t *testing.T) {
	status := evaluation{fleet: "rrru/../..", with: with(soaked(time.Hour)), phase: v1beta2.RolloutProgressing, released: "4/0/0", until: settles}.decide(t)
	require.Nil(t, status.Stages[0].SettledAt)
	require.Nil(t, status.Stages[0].SoakedAt)
}

func TestApprovalsOfAStage(t *testing.T) {
	type rule = v1beta2.RolloutApprovalRule
	one, two := approval(1, rule{When: v1beta2.ApproveBefore, Persons: 1}), approval(1, rule{Persons: 2})
	after, twoAfter := approval(0, rule{When: v1beta2.ApproveAfter}), approval(0, rule{When: v1beta2.ApproveAfter, Persons: 2})
	expires := func(i int, when v1beta2.ApprovalTime, reaction v1beta2.ExpiryReaction) func(*given) {
		return approval(i, rule{When: when, Expires: &metav1.Duration{Duration: time.Hour}, OnExpiry: reaction})
	}
	awaiting, progressing, held, reverting := v1beta2.RolloutAwaitingApproval, v1beta2.RolloutProgressing, v1beta2.RolloutHeld, v1beta2.RolloutReverting
	hold, proceed, goBack, before := v1beta2.ExpiryHold, v1beta2.ExpiryProceed, v1beta2.ExpiryRevert, v1beta2.ApproveBefore
	decideAll(t, map[string]evaluation{
		"before it":                     {fleet: "rr/.../..", with: with(one), phase: awaiting, released: "2/0/0", waits: "the approval of stage early by one more person, before it"},
		"before it, by default":         {fleet: "rr/.../..", with: with(approval(1, rule{})), phase: awaiting, released: "2/0/0", waits: "by one more person, before it"},
		"before the first":              {fleet: "..../../..", with: with(approval(0, rule{})), phase: awaiting, released: "0/0/0", waits: "the approval of stage canary"},
		"and it begins":                 {fleet: "rr/.../..", with: with(one, approved("early", "anna")), phase: progressing, released: "2/2/0", until: within},
		"long before, and it begins":    {fleet: "..../.../..", with: with(one, approved("early", "anna")), phase: progressing, released: "2/0/0", until: within},
		"two missing":                   {fleet: "rr/.../..", with: with(two), phase: awaiting, released: "2/0/0", waits: "by 2 more persons, before it"},
		"one of two missing":            {fleet: "rr/.../..", with: with(two, approved("early", "anna")), phase: awaiting, released: "2/0/0", waits: "by one more person, before it"},
		"one person twice counts once":  {fleet: "rr/.../..", with: with(two, approved("early", "anna", "anna")), phase: awaiting, released: "2/0/0", waits: "by one more person"},
		"two, and it begins":            {fleet: "rr/.../..", with: with(two, approved("early", "anna", "anna", "bob")), phase: progressing, released: "2/2/0", until: within},
		"three of two":                  {fleet: "rr/.../..", with: with(two, approved("early", "anna", "bob", "eve")), phase: progressing, released: "2/2/0", until: within},
		"unsigned":                      {fleet: "rr/.../..", with: with(one, approved("early", "")), phase: awaiting, released: "2/0/0", waits: "by one more person"},
		"another stage":                 {fleet: "rr/.../..", with: with(one, approved("canary", "anna"), approved("rest", "bob")), phase: awaiting, released: "2/0/0", waits: "by one more person"},
		"not again when it has begun":   {fleet: "rr/r../..", at: 1, with: with(one), phase: progressing, released: "2/3/0", until: within},
		"after it":                      {fleet: "rrrr/../..", with: with(after), phase: awaiting, released: "4/0/0", waits: "the approval of stage canary by one more person, after it"},
		"after it, and the next begins": {fleet: "rrrr/.../..", with: with(after, approved("canary", "anna")), phase: progressing, released: "4/2/0", until: within},
		"after it, one of two":          {fleet: "rrrr/../..", with: with(twoAfter, approved("canary", "anna")), phase: awaiting, released: "4/0/0", waits: "by one more person, after it"},
		"after it, two":                 {fleet: "rrrr/.../..", with: with(twoAfter, approved("canary", "anna", "bob")), phase: progressing, released: "4/2/0", until: within},
		"after it, not before it":       {fleet: "..../../..", with: with(after), phase: progressing, released: "2/0/0", until: within},
		"after the soak":                {fleet: "rrrr/../..", with: with(after, soak(time.Hour)), phase: v1beta2.RolloutSoaking, released: "4/0/0", until: time.Hour},
		"after the last": {fleet: "rr/rr/rr", at: 2, with: with(func(g *given) {
			g.Spec.Plan.Stages = append(g.Spec.Plan.Stages, v1beta2.RolloutStage{Name: "others", Approval: &rule{When: v1beta2.ApproveAfter}})
		}), phase: awaiting, released: "2/2/2", waits: "the approval of stage others"},
		"too many failures hold instead": {fleet: "rff./.../..", with: with(one), phase: held, released: "3/0/0"},

		"within its time":                        {fleet: "rr/.../..", with: with(expires(1, before, hold)), phase: awaiting, released: "2/0/0", until: time.Hour},
		"within what is left of its time":        {fleet: "rr/.../..", at: 1, with: with(expires(1, before, hold), reached(1, 45*time.Minute)), phase: awaiting, released: "2/0/0", until: 15 * time.Minute},
		"too late, and it is held":               {fleet: "rr/.../..", at: 1, with: with(expires(1, before, hold), reached(1, time.Hour)), phase: held, released: "2/0/0", waits: "stage early was not approved within 1h0m0s: approve it, or set spec.revert or spec.abort"},
		"too late, by default":                   {fleet: "rr/.../..", at: 1, with: with(expires(1, "", ""), reached(1, time.Hour)), phase: held, released: "2/0/0", waits: "was not approved"},
		"too late, and it begins anyway":         {fleet: "rr/.../..", at: 1, with: with(expires(1, before, proceed), reached(1, time.Hour)), phase: progressing, released: "2/2/0", until: within},
		"too late, and it is reverted":           {fleet: "rrr/.../..", at: 1, with: with(expires(1, before, goBack), reached(1, time.Hour)), phase: reverting, released: "1/0/0", until: within, waits: "go back to version 1.0.0"},
		"too late, and cannot be reverted":       {fleet: "rr/.../..", at: 1, with: with(expires(1, before, goBack), reached(1, time.Hour), notRevertible("the data is migrated")), phase: held, released: "2/0/0", waits: "was not approved within 1h0m0s; clusters cannot be reverted: the data is migrated"},
		"after it was held":                      {fleet: "rr/.../..", at: 1, with: with(expires(1, before, hold), reached(1, 2*time.Hour), phase(held), approved("early", "anna")), phase: progressing, released: "2/2/0", until: within},
		"after it, within its time":              {fleet: "rrrr/../..", with: with(expires(0, v1beta2.ApproveAfter, hold), reached(0, 9*time.Hour), soaked(10*time.Minute)), phase: awaiting, released: "4/0/0", until: 50 * time.Minute},
		"after it, too late, and it continues":   {fleet: "rrrr/.../..", with: with(expires(0, v1beta2.ApproveAfter, proceed), soaked(time.Hour)), phase: progressing, released: "4/2/0", until: within},
		"after it, too late, and it is reverted": {fleet: "rrrr/.../..", with: with(expires(0, v1beta2.ApproveAfter, goBack), soaked(time.Hour)), phase: reverting, released: "2/0/0", until: within},

		"not possible":                          {fleet: "rr/.../..", with: with(one, noApprovals("the webhook is off")), phase: awaiting, released: "2/0/0", waits: "before it; approvals are not possible: the webhook is off"},
		"not possible, given ones do not count": {fleet: "rr/.../..", with: with(one, approved("early", "anna"), noApprovals("the webhook is off")), phase: awaiting, released: "2/0/0", waits: "approvals are not possible"},
		"not possible, too late":                {fleet: "rr/.../..", at: 1, with: with(expires(1, before, proceed), reached(1, time.Hour), noApprovals("the webhook is off")), phase: progressing, released: "2/2/0", until: within},
	})
}

func TestWhatStopsARollout(t *testing.T) {
	pending, held, completed := v1beta2.RolloutPending, v1beta2.RolloutHeld, v1beta2.RolloutCompleted
	baseline := func(g *given) { g.Spec.From = newer }
	mandatory := func(g *given) { g.Spec.Channel = "" }
	over := func(p v1beta2.RolloutPhase) func(*given) {
		return func(g *given) { g.Status.Phase, g.Status.CompletedAt = p, new(metav1.NewTime(begun)) }
	}
	decideAll(t, map[string]evaluation{
		"a newer one":                        {fleet: "ru../../..", with: with(superseded), phase: v1beta2.RolloutSuperseded, released: "2/0/0"},
		"a newer one, before it begins":      {fleet: "..../../..", with: with(superseded), phase: v1beta2.RolloutSuperseded, released: "0/0/0"},
		"a newer one, even if it is aborted": {fleet: "ru../../..", with: with(superseded, aborted), phase: v1beta2.RolloutSuperseded, released: "2/0/0"},
		"an abort":                           {fleet: "ru../../..", with: with(aborted), phase: v1beta2.RolloutAborted, released: "2/0/0"},
		"an abort before it begins":          {fleet: "..../../..", with: with(aborted), phase: v1beta2.RolloutAborted, released: "0/0/0"},
		"an abort while it is held":          {fleet: "rff./../..", with: with(aborted, phase(held)), phase: v1beta2.RolloutAborted, released: "3/0/0"},
		"a pause":                            {fleet: "rr../../..", with: with(paused), phase: v1beta2.RolloutPaused, released: "2/0/0", waits: "spec.paused to be set to false"},
		"a pause before it begins":           {fleet: "..../../..", with: with(paused), phase: v1beta2.RolloutPaused, released: "0/0/0"},
		"a pause with failures":              {fleet: "rff./../..", with: with(paused), phase: v1beta2.RolloutPaused, released: "3/0/0"},
		"nothing after a pause":              {fleet: "rr../../..", with: with(phase(v1beta2.RolloutPaused)), phase: v1beta2.RolloutProgressing, released: "4/0/0", until: within},
		"a missing channel":                  {fleet: "rr../../..", with: with(assigns("")), phase: held, released: "2/0/0", waits: "the ModuleReleaseMeta of module keda no longer gives channel regular a version: add one, or delete this rollout"},
		"a missing channel before it begins": {fleet: "..../../..", with: with(assigns("")), phase: held, released: "0/0/0"},
		"a missing version, mandatory":       {fleet: "rr../../..", with: with(assigns(""), mandatory), phase: held, released: "2/0/0", waits: "no longer gives all clusters a version"},
		"another version":                    {fleet: "rr../../..", with: with(assigns("3.0.0")), phase: pending, released: "2/0/0", waits: "the rollout of version 3.0.0, which the ModuleReleaseMeta of module keda gives channel regular now"},
		"another version, before it begins":  {fleet: "..../../..", with: with(assigns("3.0.0")), phase: pending, released: "0/0/0", waits: "the rollout of version 3.0.0"},
		"another version while paused":       {fleet: "rr../../..", with: with(assigns("3.0.0"), paused), phase: pending, released: "2/0/0"},
		"no policy, not assigned yet":        {fleet: "..../../..", with: with(byHand, assigns(older)), phase: pending, released: "0/0/0", waits: "the ModuleReleaseMeta of module keda to give channel regular the version 2.0.0"},
		"no policy, no channel yet":          {fleet: "..../../..", with: with(byHand, assigns("")), phase: pending, released: "0/0/0", waits: "to give channel regular the version 2.0.0"},
		"no policy, nothing once assigned":   {fleet: "..../../..", with: with(byHand, phase(pending)), phase: v1beta2.RolloutProgressing, released: "2/0/0", until: within},
		"no policy, another version":         {fleet: "rr../../..", with: with(byHand, assigns("3.0.0")), phase: pending, released: "2/0/0", waits: "the rollout of version 3.0.0"},
		"no policy, a missing channel":       {fleet: "rr../../..", with: with(byHand, assigns("")), phase: held, released: "2/0/0"},
		"no policy, not assigned, mandatory": {fleet: "..../../..", with: with(byHand, assigns(older), mandatory), phase: pending, released: "0/0/0", waits: "to give all clusters the version 2.0.0"},
		"a baseline":                         {fleet: "..../../..", with: with(baseline), phase: completed, released: "4/2/2"},
		"a baseline without a policy":        {fleet: "..../../..", with: with(baseline, byHand, assigns("3.0.0")), phase: completed, released: "4/2/2"},
		"a baseline, even if aborted":        {fleet: "..../../..", with: with(baseline, aborted), phase: completed, released: "4/2/2"},

		"its end, even with a newer one": {fleet: "rr/rr/rr", at: 3, with: with(over(completed), superseded), phase: completed, released: "2/2/2"},
		"its end, even with spec.revert": {fleet: "rr/rr/rr", at: 3, with: with(over(completed), revert(v1beta2.RevertAll)), phase: completed, released: "2/2/2"},
		"its end, even with failures":    {fleet: "rr/ff/rr", at: 3, with: with(over(completed)), phase: completed, released: "2/2/2"},
		"an abort, permanently":          {fleet: "rr../../..", with: with(over(v1beta2.RolloutAborted)), phase: v1beta2.RolloutAborted, released: "2/0/0"},
		"a newer one, permanently":       {fleet: "rr../../..", with: with(over(v1beta2.RolloutSuperseded)), phase: v1beta2.RolloutSuperseded, released: "2/0/0"},
		"a revert, permanently":          {fleet: "..../../..", with: with(over(v1beta2.RolloutReverted)), phase: v1beta2.RolloutReverted, released: "0/0/0"},
	})
}

func TestConditionsFollowThePhase(t *testing.T) {
	for phaseIs, want := range map[v1beta2.RolloutPhase]string{
		v1beta2.RolloutPending: ConditionReconciling, v1beta2.RolloutProgressing: ConditionReconciling, v1beta2.RolloutSoaking: ConditionReconciling,
		v1beta2.RolloutAwaitingApproval: ConditionReconciling, v1beta2.RolloutPaused: ConditionReconciling, v1beta2.RolloutReverting: ConditionReconciling,
		v1beta2.RolloutHeld: ConditionStalled, v1beta2.RolloutReverted: ConditionStalled, v1beta2.RolloutAborted: ConditionStalled,
		v1beta2.RolloutCompleted: ConditionReady, v1beta2.RolloutSuperseded: ConditionReady,
	} {
		t.Run(string(phaseIs), func(t *testing.T) {
			for _, before := range []string{ConditionReconciling, ConditionStalled} {
				g := evaluation{fleet: "..../../.."}.before()
				d := &decider{rollout: g.ModuleRollout, now: metav1.NewTime(evaluated)}
				d.status.Phase, d.status.WaitsFor = phaseIs, "rain"
				d.status.Conditions = []metav1.Condition{{Type: before, Status: metav1.ConditionTrue}}
				d.setConditions()
				is := map[string]bool{}
				for _, condition := range d.status.Conditions {
					is[condition.Type] = condition.Status == metav1.ConditionTrue
					require.Equal(t, string(phaseIs), condition.Reason)
					require.Equal(t, int64(7), condition.ObservedGeneration)
					require.Equal(t, phaseIs == v1beta2.RolloutHeld, condition.Message == "rain")
				}
				require.Equal(t, map[string]bool{ConditionReady: want == ConditionReady, want: true}, is)
			}
		})
	}
	message := func(l evaluation) string {
		return meta.FindStatusCondition(l.decide(t).Conditions, ConditionReady).Message
	}
	require.Equal(t, "waits for spec.paused to be set to false", message(evaluation{fleet: "..../../..", with: with(paused), phase: v1beta2.RolloutPaused, released: "0/0/0"}))
	require.Equal(t, "the rollout has ended", message(evaluation{fleet: "//", phase: v1beta2.RolloutCompleted, released: "0/0/0"}))
}
