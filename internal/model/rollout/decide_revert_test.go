package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func onFailure(reaction v1beta2.RolloutReaction, scope v1beta2.RevertScope) func(*given) {
	return plan(func(p *v1beta2.RolloutPlan) { p.OnFailure, p.RevertScope = reaction, scope })
}

func revert(scope v1beta2.RevertScope) func(*given) {
	return func(g *given) { g.Spec.Revert = scope }
}

func notRevertible(why string) func(*given) { return func(g *given) { g.s.NotRevertible = why } }

// goesBack is a rollout that is reverting clusters already, down to a stage.
func goesBack(to int32) func(*given) {
	return func(g *given) {
		g.Status.Phase, g.Status.Reverts, g.Status.RevertTo = v1beta2.RolloutReverting, true, to
	}
}

func aborted(g *given) { g.Spec.Abort = true }

func paused(g *given) { g.Spec.Paused = true }

func superseded(g *given) { g.s.Superseded = true }

func assigns(version string) func(*given) { return func(g *given) { g.s.Desired = version } }

func byHand(g *given) { g.Spec.Policy = "" }

func TestARevertBegins(t *testing.T) {
	all, stage, back := v1beta2.RevertAll, v1beta2.RevertStage, v1beta2.RolloutRevert
	reverting, reverted, held := v1beta2.RolloutReverting, v1beta2.RolloutReverted, v1beta2.RolloutHeld
	decideAll(t, map[string]evaluation{
		"after too many failures":                 {fleet: "rr/ff../..", at: 1, with: with(onFailure(back, all)), phase: reverting, released: "2/0/0", until: within, waits: "the clusters to go back to version 1.0.0"},
		"after too many failures, of all":         {fleet: "rr/ff../..", at: 1, with: with(onFailure(back, "")), phase: reverting, released: "2/0/0", until: within},
		"after too many failures, of the stage":   {fleet: "rr/ff../..", at: 1, with: with(onFailure(back, stage)), phase: reverting, released: "2/0/0", until: within},
		"after equal failures":                    {fleet: "sss......./../..", with: with(onFailure(back, all), maxFailures(count(10))), phase: reverting, released: "1/0/0", until: within},
		"not within the budget":                   {fleet: "rf../../..", with: with(onFailure(back, all)), phase: v1beta2.RolloutProgressing, released: "4/0/0", until: within},
		"not if it is not revertible":             {fleet: "rr/ff../..", at: 1, with: with(onFailure(back, all), notRevertible("the data is migrated")), phase: held, released: "2/2/0", waits: "; clusters cannot be reverted: the data is migrated. Repair them"},
		"not if the plan holds":                   {fleet: "rr/ff../..", at: 1, with: with(onFailure(v1beta2.RolloutHold, all)), phase: held, released: "2/2/0"},
		"with spec.revert":                        {fleet: "rr/rr../..", at: 1, with: with(revert(all)), phase: reverting, released: "2/0/0", until: within},
		"of the stage, with spec.revert":          {fleet: "rr/rrr./..", at: 1, with: with(revert(stage)), phase: reverting, released: "2/1/0", until: within},
		"not with spec.revert if not revertible":  {fleet: "rr/rr../..", at: 1, with: with(revert(all), notRevertible("the data is migrated")), phase: held, released: "2/2/0", waits: "spec.revert is set; clusters cannot be reverted: the data is migrated"},
		"and ends if nothing is released":         {fleet: "..../../..", with: with(revert(all)), phase: reverted, released: "0/0/0"},
		"and ends if nothing of the stage is":     {fleet: "rr/../..", at: 1, with: with(revert(stage)), phase: reverted, released: "2/0/0"},
		"beyond a stage without releases":         {fleet: "rr/../..", at: 1, with: with(revert(all)), phase: reverting, released: "0/0/0", until: within},
		"even while paused":                       {fleet: "rr/rr../..", at: 1, with: with(revert(all), paused), phase: reverting, released: "2/0/0", until: within},
		"even while held":                         {fleet: "rff./../..", with: with(revert(all), phase(held)), phase: reverting, released: "1/0/0", until: within},
		"even if another version is assigned":     {fleet: "rr/rr../..", at: 1, with: with(revert(all), assigns("3.0.0")), phase: reverting, released: "2/0/0", until: within},
		"even if the channel is gone":             {fleet: "rr/rr../..", at: 1, with: with(revert(all), assigns("")), phase: reverting, released: "2/0/0", until: within},
		"without a policy, before it begins":      {fleet: "..../../..", with: with(byHand, assigns(older), revert(all)), phase: reverted, released: "0/0/0"},
		"with those that update, and unreachable": {fleet: "rrux/../..", with: with(revert(all)), phase: reverting, released: "2/0/0", until: within},
	})
}

func TestARevertGoesFromTheLastClusterToTheFirst(t *testing.T) {
	reverting, reverted := v1beta2.RolloutReverting, v1beta2.RolloutReverted
	own := func(i int, n int32) func(*given) {
		return ofStage(i, func(s *v1beta2.RolloutStage) { c := count(n); s.Concurrency = &c })
	}
	decideAll(t, map[string]evaluation{
		"as many as may be on their way":       {fleet: "rrrr/../..", with: with(goesBack(0)), phase: reverting, released: "2/0/0", until: within, waits: "the clusters to go back"},
		"none while as many are":               {fleet: "rr<</../..", with: with(goesBack(0)), phase: reverting, released: "2/0/0", until: backs, waits: "the clusters to go back"},
		"one for each that arrived":            {fleet: "rr<./../..", with: with(goesBack(0)), phase: reverting, released: "1/0/0", until: backs, waits: "the clusters to go back"},
		"down a stage":                         {fleet: "rrr/../..", at: 1, with: with(goesBack(0)), phase: reverting, released: "1/0/0", until: within},
		"down a stage while one is on its way": {fleet: "rrr/.<../..", at: 1, with: with(goesBack(0)), phase: reverting, released: "2/0/0", until: backs},
		"not down a stage while too many are":  {fleet: "rrr/<<../..", at: 1, with: with(goesBack(0)), phase: reverting, released: "3/0/0", until: backs},
		"down stages without clusters":         {fleet: "rrr//..", at: 2, with: with(goesBack(0)), phase: reverting, released: "1/0/0", until: within},
		"as many as the stage says":            {fleet: "rrrr/../..", with: with(goesBack(0), own(0, 3)), phase: reverting, released: "1/0/0", until: within},
		"fewer if another stage has many":      {fleet: "rrrr/<<<./..", at: 1, with: with(goesBack(0), own(1, 3)), phase: reverting, released: "4/0/0", until: backs, waits: "the clusters to go back"},
		"and waits for the last":               {fleet: "<.<./../..", with: with(goesBack(0)), phase: reverting, released: "0/0/0", until: backs, waits: "the clusters to go back"},
		"and waits for the last of another":    {fleet: "..../.<../..", with: with(goesBack(0)), phase: reverting, released: "0/0/0", until: backs},
		"and ends when all are back":           {fleet: "..../..../..", with: with(goesBack(0)), phase: reverted, released: "0/0/0"},
		"down to its last stage":               {fleet: "rr/rrr./..", at: 1, with: with(goesBack(1)), phase: reverting, released: "2/1/0", until: within},
		"and waits for the last of that":       {fleet: "rr/<.../..", at: 1, with: with(goesBack(1)), phase: reverting, released: "2/0/0", until: backs},
		"and ends there":                       {fleet: "rr/..../..", at: 1, with: with(goesBack(1)), phase: reverted, released: "2/0/0"},
		"from a later stage down to that":      {fleet: "rr/rrr/..", at: 2, with: with(goesBack(1)), phase: reverting, released: "2/1/0", until: within},
		"failed, waiting and unreachable ones": {fleet: "fwxb/../..", with: with(goesBack(0)), phase: reverting, released: "2/0/0", until: within},
		"even without spec.revert any more":    {fleet: "rr<</../..", with: with(goesBack(0), revert("")), phase: reverting, released: "2/0/0", until: backs},
		"even while paused":                    {fleet: "rrrr/../..", with: with(goesBack(0), paused), phase: reverting, released: "2/0/0", until: within},
		"even if no longer revertible":         {fleet: "rrrr/../..", with: with(goesBack(0), notRevertible("the data is migrated")), phase: reverting, released: "2/0/0", until: within},
		"even if its phase was lost":           {fleet: "rrrr/../..", with: with(goesBack(0), phase("")), phase: reverting, released: "2/0/0", until: within},
		"until it is aborted":                  {fleet: "rr<</../..", with: with(goesBack(0), aborted), phase: v1beta2.RolloutAborted, released: "2/0/0"},
		"until there is a newer one":           {fleet: "rr<</../..", with: with(goesBack(0), superseded), phase: v1beta2.RolloutSuperseded, released: "2/0/0"},
		"from the very end":                    {fleet: "rr/rr/rr", at: 3, with: with(goesBack(0)), phase: reverting, released: "2/2/0", until: within},
	})
}

func TestARevertRemembersHowFarItGoes(t *testing.T) {
	for scope, want := range map[v1beta2.RevertScope]int32{v1beta2.RevertAll: 0, v1beta2.RevertStage: 1} {
		asked := evaluation{fleet: "rr/rrr./..", at: 1, with: with(revert(scope)), phase: v1beta2.RolloutReverting, released: "2/1/0", until: within}.decide(t)
		require.True(t, asked.Reverts)
		require.Equal(t, want, asked.RevertTo)
		failed := evaluation{fleet: "rr/ffr./..", at: 1, with: with(onFailure(v1beta2.RolloutRevert, scope)), phase: v1beta2.RolloutReverting, released: "2/1/0", until: within}.decide(t)
		require.Equal(t, want, failed.RevertTo)
	}
}

func TestTheTimeToSettleBeginsWhenClustersAreReverted(t *testing.T) {
	l := evaluation{fleet: "rrrr/../..", with: with(goesBack(0), settled(time.Hour, 0)), phase: v1beta2.RolloutReverting, released: "2/0/0", until: within}
	taken := l.decide(t).Stages[0]
	require.Equal(t, new(metav1.NewTime(evaluated)), taken.ReleasedAt)
	require.Nil(t, taken.SettledAt)
	l.fleet, l.until = "rr<</../..", backs
	require.Equal(t, new(metav1.NewTime(begun)), l.decide(t).Stages[0].ReleasedAt, "no cluster is reverted now")
}

func TestDecidingAgainChangesNothing(t *testing.T) {
	for name, l := range map[string]evaluation{
		"progressing": {fleet: "ruu./../..", phase: v1beta2.RolloutProgressing, released: "3/0/0", until: settles},
		"soaking":     {fleet: "rrrr/../..", with: with(soak(time.Hour), settled(20*time.Minute, 0)), phase: v1beta2.RolloutSoaking, released: "4/0/0", until: 40 * time.Minute},
		"approval":    {fleet: "rr/../..", with: with(approval(1, v1beta2.RolloutApprovalRule{})), phase: v1beta2.RolloutAwaitingApproval, released: "2/0/0"},
		"paused":      {fleet: "ru../../..", with: with(paused), phase: v1beta2.RolloutPaused, released: "2/0/0"},
		"held":        {fleet: "rff./../..", phase: v1beta2.RolloutHeld, released: "3/0/0"},
		"reverting":   {fleet: "rr<</../..", with: with(goesBack(0)), phase: v1beta2.RolloutReverting, released: "2/0/0", until: backs},
		"pending":     {fleet: "ru../../..", with: with(assigns("3.0.0")), phase: v1beta2.RolloutPending, released: "2/0/0"},
		"ended":       {fleet: "rr/rr/rr", at: 2, phase: v1beta2.RolloutCompleted, released: "2/2/2"},
	} {
		t.Run(name, func(t *testing.T) {
			first, g := l.decide(t), l.before()
			g.Status = first
			_, until := Decide(g.ModuleRollout, seen(l.fleet), g.s)
			g.s.Now = evaluated.Add(3 * time.Minute)
			again, later := Decide(g.ModuleRollout, seen(l.fleet), g.s)
			require.Equal(t, first, again)
			require.Equal(t, until, later)
			require.Equal(t, metav1.NewTime(evaluated), again.Conditions[0].LastTransitionTime)
		})
	}
}
