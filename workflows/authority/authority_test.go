package authority

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/rotate"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// running runs the workflow until it continues as new. It returns the times of the rotations and the input of the
// next run.
func running(t *testing.T, in Input, act func(n int, now time.Time) (certificates.Rotated, error), prepare func(*testsuite.TestWorkflowEnvironment)) ([]time.Duration, Input) {
	t.Helper()
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(CertificatesWorkflow, workflow.RegisterOptions{Name: kick.CertificatesWorkflow})
	var rotated []time.Duration
	started := env.Now()
	env.RegisterActivityWithOptions(func(context.Context, rotate.Input) (certificates.Rotated, error) {
		rotated = append(rotated, env.Now().Sub(started).Round(time.Second))
		result, err := act(len(rotated), env.Now())
		return result, fault.ToTemporal(err)
	}, activity.RegisterOptions{Name: "RotateCertificates"})
	if prepare != nil {
		prepare(env)
	}
	env.ExecuteWorkflow(CertificatesWorkflow, in)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	return rotated, next
}

func settled(int, time.Time) (certificates.Rotated, error) {
	return certificates.Rotated{}, nil
}

func TestCertificatesAreRotatedAtOnceAndThenOnceAnHour(t *testing.T) {
	rotated, next := running(t, Input{}, settled, nil)
	require.Len(t, rotated, roundsPerRun)
	require.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour}, rotated[:3])
	require.Zero(t, next.Failures)
}

func TestCertificatesAreRotatedWhenAStepIsDueButAtMostOnceAMinute(t *testing.T) {
	rotated, _ := running(t, Input{}, func(n int, now time.Time) (certificates.Rotated, error) {
		switch n {
		case 1:
			return certificates.Rotated{Next: now.Add(10 * time.Minute)}, nil
		case 2:
			return certificates.Rotated{Next: now.Add(time.Millisecond)}, nil
		default:
			return certificates.Rotated{Next: now.Add(1000 * time.Hour)}, nil
		}
	}, nil)
	require.Equal(t, []time.Duration{0, 10 * time.Minute, 11 * time.Minute, 71 * time.Minute}, rotated[:4])
}

func TestAKickIsActedOnAtOnce(t *testing.T) {
	rotated, _ := running(t, Input{}, settled, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "a person asked"}) }, 5*time.Minute)
	})
	require.Equal(t, []time.Duration{0, 5 * time.Minute, 65 * time.Minute}, rotated[:3])
}

func TestAForcedContinueAsNewKeepsTheWholeState(t *testing.T) {
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	result := certificates.Rotated{
		Authorities: []certificates.AuthorityRow{{Authority: "0123456789ab", Phase: "present", Since: at, NotAfter: at, Agents: 3}},
		Done:        []string{"made authority 0123456789ab"}, Late: []string{"3 agents | still"},
	}
	rotated, next := running(t, Input{}, func(int, time.Time) (certificates.Rotated, error) { return result, nil },
		func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() {
				answer, err := env.QueryWorkflow(kick.QueryStatus)
				require.NoError(t, err)
				var view View
				require.NoError(t, answer.Get(&view))
				require.Equal(t, result.Authorities, view.Authorities)
				require.Equal(t, doingWait, view.Doing)
				env.SignalWorkflow(kick.SignalContinueAsNew, nil)
			}, time.Minute)
		})
	require.Len(t, rotated, 1)
	require.Equal(t, result.Authorities, next.View.Authorities)
	require.False(t, next.Next.IsZero(), "the next run does not rotate too early")
	details := next.View.Markdown()
	require.Contains(t, details, " for the next check at "+next.Next.UTC().Format(time.RFC3339))
	require.Contains(t, details, "| 0123456789ab | present |")
	require.Contains(t, details, "**Late**: 3 agents / still")
	require.Contains(t, details, "- made authority 0123456789ab")
}

func TestFailuresAreRetriedWithBackoff(t *testing.T) {
	rotated, next := running(t, Input{}, func(n int, _ time.Time) (certificates.Rotated, error) {
		if n <= 4 {
			return certificates.Rotated{}, fault.New(fault.Rejected, certificates.ReasonUnreadable, "it cannot be read")
		}
		return certificates.Rotated{}, nil
	}, nil)
	require.Equal(t, []time.Duration{0, time.Minute, 3 * time.Minute, 7 * time.Minute, 15 * time.Minute, 75 * time.Minute}, rotated[:6])
	require.Zero(t, next.Failures)
	require.True(t, next.View.LastFault.IsZero())
	require.Equal(t, time.Hour, backoff(1000))
}

func TestAnIssuerIsCheckedAgainSoon(t *testing.T) {
	rotated, next := running(t, Input{}, func(n int, now time.Time) (certificates.Rotated, error) {
		return certificates.Rotated{Next: now.Add(time.Minute), Awaited: n <= 8 || n == 10}, nil
	}, nil)
	seconds := []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 244, 304}
	for i, at := range seconds {
		require.Equal(t, time.Duration(at)*time.Second, rotated[i], "round %d", i+1)
	}
	require.Zero(t, next.Awaited)
}

func TestAFaultIsShown(t *testing.T) {
	_, next := running(t, Input{}, func(int, time.Time) (certificates.Rotated, error) {
		return certificates.Rotated{}, fault.New(fault.Rejected, certificates.ReasonUnreadable, "it cannot be read")
	}, nil)
	require.Equal(t, roundsPerRun, next.Failures)
	require.Contains(t, next.View.Markdown(), "Last error: it cannot be read (AuthoritiesUnreadable)")
}

func TestTheDetailsKeepOnlyTheLastSteps(t *testing.T) {
	var v View
	for range 30 {
		v.take(certificates.Rotated{Done: []string{"a", "b"}})
	}
	require.Len(t, v.Done, maxDone)
}

func TestACancellationEndsTheWorkflow(t *testing.T) {
	env := workflowtest.Environment()
	env.RegisterActivityWithOptions(func(context.Context, rotate.Input) (certificates.Rotated, error) {
		return certificates.Rotated{}, nil
	}, activity.RegisterOptions{Name: "RotateCertificates"})
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Minute)
	env.ExecuteWorkflow(CertificatesWorkflow, Input{})
	require.True(t, env.IsWorkflowCompleted())
	require.ErrorContains(t, env.GetWorkflowError(), "canceled")
}
