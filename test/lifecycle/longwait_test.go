package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Most steps of an installation take a moment, and are not worth a status write of the Kyma each. Longer ones are.
func TestALongWaitNotifiesTheKymaOnce(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	seen := s.wait(readiness.Observed{})
	waiting := func(elapsed time.Duration, shown bool) (install.ModuleNews, error) {
		t.Helper()
		env := activityEnvironment()
		env.RegisterActivity(s.activities.Install.FollowModules)
		value, err := env.ExecuteActivity(s.activities.Install.FollowModules, install.FollowInput{Modules: []install.Followed{
			{Ref: s.ref(), Reported: seen, Since: time.Now().Add(-elapsed), Shown: shown},
		}})
		var news []install.ModuleNews
		if err != nil {
			return install.ModuleNews{}, err
		}
		require.NoError(t, value.Get(&news))
		require.Len(t, news, 1)
		return news[0], nil
	}
	_, err := waiting(0, false)
	require.Equal(t, fault.Pending, fault.FromTemporal(err).Kind, "it may be over in a moment")
	result, err := waiting(30*time.Second, false)
	require.NoError(t, err)
	require.Equal(t, seen, result.Observed)
	require.Equal(t, "Manifest is Ready", result.Kick.Reason)
	_, err = waiting(time.Minute, true)
	require.Equal(t, fault.Pending, fault.FromTemporal(err).Kind, "it was notified")
}
