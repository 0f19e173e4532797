package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Most steps of an installation take a moment, and are not worth a status write of the Kyma each. Longer ones are.
func TestALongWaitNotifiesTheKymaOnce(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	seen := s.wait(readiness.Observed{})
	waiting := func(elapsed time.Duration, before *manifests.WaitDetails) []string {
		t.Helper()
		s.activities.Steps.Options.Clock = func() time.Time { return time.Now().Add(elapsed) }
		env := activityEnvironment()
		env.RegisterActivity(s.activities.Install.WaitManifest)
		if before != nil {
			env.SetHeartbeatDetails(*before)
		}
		s.kicks.take()
		_, err := env.ExecuteActivity(s.activities.Install.WaitManifest, install.WaitInput{Ref: s.ref(), Reported: seen})
		require.Equal(t, fault.Pending, fault.FromTemporal(err).Kind)
		return s.kicks.take()
	}
	require.Empty(t, waiting(0, nil), "it may be over in a moment")
	require.Equal(t, []string{"Manifest is Ready"}, waiting(30*time.Second, nil))
	require.Empty(t, waiting(time.Minute, &manifests.WaitDetails{Notified: true}), "it was notified")
}

func TestAKymaIsNotifiedOfWhatItsManifestWaitsForAfterItWasReleased(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.update(func(m *v1beta2.Manifest) { m.Finalizers = append(m.Finalizers, "example.com/other") })
	s.delete()
	s.kicks.take()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
	require.Contains(t, s.kicks.take(), "Manifest is Deleting", "the Manifest is not reconciled again")
}
