package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestADeferralIsATimeForAllModulesOrForSome(t *testing.T) {
	christmas, newYear := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]map[string]time.Time{
		"":                          {"keda": {}},
		"2026-12-24T18:00:00Z":      {"keda": christmas, "btp": christmas},
		"2026-12-24T19:00:00+01:00": {"keda": christmas},
		"2026-12-24T18:00:00.75Z":   {"keda": christmas},
		"keda=2026-12-24T18:00:00Z": {"keda": christmas, "btp": {}},
		"keda=2026-12-24T18:00:00Z,2027-01-01T00:00:00Z":          {"keda": christmas, "btp": newYear},
		"keda = 2026-12-24T18:00:00Z , btp=2027-01-01T00:00:00Z,": {"keda": christmas, "btp": newYear, "istio": {}},
	} {
		d, err := ParseDeferrals(text)
		require.NoError(t, err, text)
		for module, until := range want {
			require.Equal(t, until, d.Of(module), "%s of %q", module, text)
		}
	}
	for _, text := range []string{
		"tomorrow", "2026-12-24", "keda=", "=2026-12-24T18:00:00Z", "keda=2026-12-24T18:00:00Z;btp=2027-01-01T00:00:00Z",
		"keda=a=2026-12-24T18:00:00Z", strings.Repeat(",", MaxDeferrals),
	} {
		d, err := ParseDeferrals(text)
		require.ErrorIs(t, err, errDeferral, text)
		require.Zero(t, d.Of("keda"), text)
	}
}

func TestHowLongAnOwnerMayDeferAVersion(t *testing.T) {
	day := 24 * time.Hour
	never := Deferral{}
	until := func(d time.Duration) Deferral { return Deferral{Until: begun.Add(d)} }
	inWindow := func(d time.Duration) Deferral { return Deferral{Until: begun.Add(d), InWindow: true} }
	// released is a rollout that released its version to all clusters a time after begun, and allows a deferral of a
	// certain length.
	released := func(sequence int64, from, to string, after, within time.Duration, end v1beta2.DeferralEnd) *v1beta2.ModuleRollout {
		r := leg(sequence, from, to, upTo(1))
		r.Status.Stages = []v1beta2.RolloutStageStatus{{FirstReleasedAt: &metav1.Time{Time: begun.Add(after)}}}
		if within > 0 {
			r.Spec.Plan.Deferral = &v1beta2.RolloutDeferralRule{Within: metav1.Duration{Duration: within}, AtEnd: end}
		}
		return r
	}
	baseline := leg(1, "1.0.0", "1.0.0", upTo(2))
	toldOnly := leg(2, "1.0.0", "1.1.0", upTo(0))
	toldOnly.Spec.Plan.Deferral = &v1beta2.RolloutDeferralRule{Within: metav1.Duration{Duration: day}}
	empty := released(2, "1.0.0", "1.1.0", 0, day, "")
	empty.Status.Stages[0] = v1beta2.RolloutStageStatus{StartedAt: &metav1.Time{Time: begun.Add(time.Hour)}}
	unknown := released(2, "1.0.0", "1.1.0", 0, day, "")
	unknown.Status.Stages = nil
	for name, test := range map[string]struct {
		rollouts  []*v1beta2.ModuleRollout // newest first
		installed string
		asked     time.Duration // after begun; zero means not at all
		want      Deferral
	}{
		"as long as asked":            {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, 7*day, ""), baseline}, "1.0.0", day, until(day)},
		"exactly as long as allowed":  {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, v1beta2.DeferralWindow), baseline}, "1.0.0", day, until(day)},
		"not longer than is allowed":  {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, ""), baseline}, "1.0.0", 7 * day, until(day)},
		"then in a window":            {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, v1beta2.DeferralWindow), baseline}, "1.0.0", 7 * day, inWindow(day)},
		"from the stage's release on": {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", day, day, ""), baseline}, "1.0.0", 7 * day, until(2 * day)},
		"no deferral asked for":       {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, ""), baseline}, "1.0.0", 0, never},
		"no deferral allowed":         {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, 0, ""), baseline}, "1.0.0", day, never},
		"nothing is installed":        {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, ""), baseline}, "", day, never},
		"the version is installed":    {[]*v1beta2.ModuleRollout{released(2, "1.0.0", "1.1.0", 0, day, ""), baseline}, "1.1.0", day, never},
		"it is not released yet":      {[]*v1beta2.ModuleRollout{toldOnly, baseline}, "1.0.0", day, never},
		"without a rollout":           {nil, "1.0.0", day, never},
		"a stage without clusters":    {[]*v1beta2.ModuleRollout{empty, baseline}, "1.0.0", 7 * day, until(day + time.Hour)},
		"the release time is unknown": {[]*v1beta2.ModuleRollout{unknown, baseline}, "1.0.0", day, never},
		"a newer version does not extend it": {[]*v1beta2.ModuleRollout{
			released(3, "1.1.0", "1.2.0", 2*day, 3*day, ""), released(2, "1.0.0", "1.1.0", 0, 3*day, ""), baseline,
		}, "1.0.0", 30 * day, until(3 * day)},
		"a newer version for a cluster with the one before": {[]*v1beta2.ModuleRollout{
			released(3, "1.1.0", "1.2.0", 2*day, 3*day, ""), released(2, "1.0.0", "1.1.0", 0, 3*day, ""), baseline,
		}, "1.1.0", 30 * day, until(5 * day)},
		"the newest released version decides": {[]*v1beta2.ModuleRollout{
			leg(3, "1.1.0", "1.2.0", upTo(0)), released(2, "1.0.0", "1.1.0", 0, 3*day, ""), baseline,
		}, "1.0.0", 30 * day, until(3 * day)},
		"the newest allows none": {[]*v1beta2.ModuleRollout{
			released(3, "1.1.0", "1.2.0", 2*day, 0, ""), released(2, "1.0.0", "1.1.0", 0, 3*day, ""), baseline,
		}, "1.0.0", 30 * day, never},
	} {
		t.Run(name, func(t *testing.T) {
			var asked time.Time
			if test.asked > 0 {
				asked = begun.Add(test.asked)
			}
			require.Equal(t, test.want, DeferralOf(test.rollouts, Cluster{UID: "a", Labels: map[string]string{"stage": "canary"}}, test.installed, asked))
		})
	}
}

func TestTheStatusNamesDeferringClusters(t *testing.T) {
	r := leg(2, "1.0.0", "1.1.0", upTo(3))
	var observations []Observation
	for i := range 25 {
		s := seenIn("", string(rune('a'+i)), Observation{Version: "1.0.0", Waits: true, DeferredUntil: begun.Add(time.Duration(25-i) * time.Hour)})
		observations = append(observations, s)
	}
	observations = append(observations, seenIn("", "window", Observation{Version: "1.0.0", Waits: true}),
		seenIn("", "done", Observation{Version: "1.1.0", State: "Ready", DeferredUntil: begun}))
	o := Observe(r, observations, begun)
	rest := o.Stages[len(o.Stages)-1]
	require.EqualValues(t, 26, rest.Waiting)
	require.EqualValues(t, 25, rest.Deferred)
	require.Len(t, o.Deferrals, 20)
	require.Equal(t, begun.Add(time.Hour), o.Deferrals[0].Until.Time, "the earliest end first")
	require.Equal(t, observations[24].Kyma, o.Deferrals[0].Kyma)

	status, _ := Decide(r, o, Situation{Now: begun, Desired: "1.1.0"})
	require.EqualValues(t, 25, status.Stages[len(status.Stages)-1].Deferred)
	require.Equal(t, o.Deferrals, status.Deferrals)
	require.Equal(t, v1beta2.RolloutCompleted, status.Phase, "deferring clusters do not stop the rollout")
}
