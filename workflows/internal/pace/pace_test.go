package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func pendingOf(kicks ...kick.Kick) mailbox.Pending {
	var p mailbox.Pending
	for _, k := range kicks {
		p.Add(k)
	}
	return p
}

func TestKicksAreActedOnAtTheRightTime(t *testing.T) {
	later := noon.Add(time.Minute)
	muchLater := noon.Add(time.Hour)
	cases := map[string]struct {
		pace    Pace
		pending mailbox.Pending
		due     time.Time
		waits   bool
	}{
		"without a kick nothing is due":                                 {pace: Pace{}, pending: mailbox.Pending{}},
		"the first kick is due at once":                                 {pace: Pace{}, pending: pendingOf(kick.Kick{Reason: "a"}), due: noon, waits: true},
		"a kick during the wait is due when the wait ends":              {pace: Pace{Wait: time.Second, Until: noon.Add(time.Second)}, pending: pendingOf(kick.Kick{}), due: noon.Add(time.Second), waits: true},
		"a kick after the wait is due at once":                          {pace: Pace{Wait: time.Second, Until: noon.Add(-time.Second)}, pending: pendingOf(kick.Kick{}), due: noon, waits: true},
		"an urgent kick does not wait":                                  {pace: Pace{Wait: time.Second, Until: noon.Add(time.Second)}, pending: pendingOf(kick.Kick{Urgent: true}), due: noon, waits: true},
		"a paced kick waits for its turn":                               {pending: pendingOf(kick.Kick{NotBefore: &later}), due: later, waits: true},
		"the earliest turn of several counts":                           {pending: pendingOf(kick.Kick{NotBefore: &muchLater}, kick.Kick{NotBefore: &later}), due: later, waits: true},
		"an ordinary kick overtakes a paced change":                     {pending: pendingOf(kick.Kick{NotBefore: &later}, kick.Kick{}), due: noon, waits: true},
		"an ordinary kick stays ahead of a later paced change":          {pending: pendingOf(kick.Kick{}, kick.Kick{NotBefore: &later}), due: noon, waits: true},
		"a kick about the Kyma itself overtakes a paced change":         {pending: pendingOf(kick.Kick{NotBefore: &later}, kick.Kick{Urgent: true}), due: noon, waits: true},
		"a paced change whose turn has passed waits for the rate limit": {pace: Pace{Wait: time.Second, Until: noon.Add(time.Second)}, pending: pendingOf(kick.Kick{NotBefore: &noon}), due: noon.Add(time.Second), waits: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			due, waits := tc.pace.Due(noon, tc.pending)
			require.Equal(t, tc.waits, waits)
			require.Equal(t, tc.due, due)
		})
	}
}

func TestTheWaitDoublesWhileKicksKeepComingAndStartsOverAfterAQuietTime(t *testing.T) {
	now, pace := noon, Pace{}
	var waits []time.Duration
	for range 8 {
		pace = pace.After(now, now, false)
		waits = append(waits, pace.Wait)
		now = pace.Until // when the wait ends, the next kick is already pending
	}
	require.Equal(t, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 30e9, 30e9, 30e9}, waits)

	quiet := pace.Until.Add(time.Minute)
	require.Equal(t, time.Second, pace.After(quiet, quiet, false).Wait)
}

func TestUrgentKicksDoNotWaitAndDoNotSlowDownOrdinaryOnes(t *testing.T) {
	pace := Pace{}.After(noon, noon, false).After(noon.Add(time.Second), noon.Add(time.Second), false)
	require.Equal(t, 2*time.Second, pace.Wait)
	for range 8 { // edits of a spec and modules that settle, during the wait
		pace = pace.After(pace.Until.Add(-time.Second), pace.Until.Add(-time.Second), true)
		require.Equal(t, 2*time.Second, pace.Wait)
	}
	require.Equal(t, noon.Add(time.Second+8*time.Second+2*time.Second), pace.Until, "each reconcile has answered all earlier kicks")
	require.Equal(t, 4*time.Second, pace.After(pace.Until, pace.Until, false).Wait, "ordinary kicks still double the wait")

	quiet := pace.Until.Add(time.Minute)
	require.Equal(t, time.Second, pace.After(quiet, quiet, true).Wait)
}
