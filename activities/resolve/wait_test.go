package resolve

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
)

// allWeek is a policy with one window of this length, each day at 20:00.
type allWeek time.Duration

func (w allWeek) Policy() (*windows.Policy, error) {
	end := time.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC).Add(time.Duration(w)).Format("15:04:05Z")
	return windows.Parse(fmt.Appendf(nil, `{"rules":[],"default":{"days":["Mon","Tue","Wed","Thu","Fri","Sat","Sun"],"begin":"20:00:00Z","end":%q}}`, end))
}

func turnsOf(t *testing.T, length, span time.Duration) (turns []time.Time, begin time.Time) {
	t.Helper()
	noon := time.Date(2030, 1, 5, 12, 0, 0, 0, time.UTC)
	policy := PolicyWindows{Policies: allWeek(length), MinSize: 20 * time.Minute, Now: func() time.Time { return noon }}
	wait := policy.Window(nil)
	for i := range 1000 {
		turns = append(turns, wait.Turn(types.UID(fmt.Sprintf("kyma-%d", i)), span))
	}
	return turns, noon.Add(8 * time.Hour)
}

func TestTurnsOfKymasWithTheSameWindowAreSpread(t *testing.T) {
	for name, test := range map[string]struct{ length, span, over time.Duration }{
		"over the pacing span":                            {4 * time.Hour, 5 * time.Minute, 5 * time.Minute},
		"over less in a window with little time to spare": {24 * time.Minute, 5 * time.Minute, 2 * time.Minute},
		"not at all in a window just long enough":         {20 * time.Minute, 5 * time.Minute, 0},
		"not at all if changes are not paced":             {4 * time.Hour, 0, 0},
		"over at most half of the time to spare":          {140 * time.Minute, 10 * time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			turns, begin := turnsOf(t, test.length, test.span)
			tenths := map[time.Duration]int{}
			for _, turn := range turns {
				require.WithinRange(t, turn, begin, begin.Add(test.over))
				if test.over > 0 {
					tenths[10*turn.Sub(begin)/test.over]++
				}
			}
			for tenth, kymas := range tenths {
				require.InDelta(t, 100, kymas, 40, "in tenth %d", tenth)
			}
			again, _ := turnsOf(t, test.length, test.span)
			require.Equal(t, turns, again, "a turn does not change")
		})
	}
	require.Zero(t, planning.Wait{}.Turn("kyma", time.Hour), "no window is known")
}

func TestAReconcileRequestsTheKymasTurnInTheWindow(t *testing.T) {
	begin := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	turns := map[time.Time]bool{}
	for i := range 5 {
		kyma := desiredtest.Kyma("keda")
		kyma.UID = types.UID(fmt.Sprintf("kyma-%d", i))
		b := newBench(t, kyma, desired.Settings{PacingSpan: 5 * time.Minute}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
		require.Len(t, b.reconcile(t).Created, 1)
		template := &v1beta2.ModuleTemplate{}
		require.NoError(t, b.Cluster.Get(t.Context(), client.ObjectKey{Namespace: desiredtest.Namespace, Name: "keda-regular"}, template))
		template.Spec.Descriptor, template.Spec.RequiresDowntime = desiredtest.Descriptor(desiredtest.Component("keda"), "2.0.0"), true
		require.NoError(t, b.Cluster.Update(t.Context(), template))
		b.planner.Windows = closedUntil(begin)
		result := b.reconcile(t)
		require.WithinRange(t, result.NextReconcile, begin, begin.Add(5*time.Minute))
		turns[result.NextReconcile] = true
	}
	require.Greater(t, len(turns), 1)
}

// closedUntil is a window that begins at this time.
type closedUntil time.Time

func (c closedUntil) Window(map[string]string) planning.Wait {
	return planning.Wait{Next: time.Time(c), Spare: time.Hour}
}
