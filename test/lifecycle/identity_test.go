package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdkinterceptor "go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/worker"
)

var errNoAnswer = errors.New("no answer")

// failRequests makes some requests to the control plane fail.
func failRequests(a *worker.ManifestActivities, funcs interceptor.Funcs) {
	inner, ok := a.Steps.Options.ControlPlane.(client.WithWatch)
	if !ok {
		panic("the fake client can watch")
	}
	a.Steps.Options.ControlPlane = interceptor.NewClient(inner, funcs)
}

// replaceManifest replaces a Manifest by another one of the same name.
func replaceManifest(t *testing.T, c client.Client, m *v1beta2.Manifest) *v1beta2.Manifest {
	t.Helper()
	next := m.DeepCopy()
	m = m.DeepCopy()
	m.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), m))
	_ = c.Delete(t.Context(), m)
	next.UID, next.ResourceVersion, next.DeletionTimestamp = "another", "", nil
	require.NoError(t, c.Create(t.Context(), next))
	return next
}

func TestAnotherManifestOfTheSameNameCountsAsNone(t *testing.T) {
	m := sharedManifest("a", 1, nil)
	a, _ := sharing(t, m)
	found, err := a.Steps.Read(t.Context(), kick.RefOf(m))
	require.NoError(t, err)
	require.NotNil(t, found)

	other := kick.RefOf(m)
	other.UID = "another"
	found, err = a.Steps.Read(t.Context(), other)
	require.NoError(t, err)
	require.Nil(t, found)

	applied, err := a.Install.ApplyManifest(t.Context(), install.ApplyInput{Ref: other})
	require.NoError(t, err)
	require.Equal(t, install.ApplyResult{Outcome: manifests.OutcomeGone}, applied)
	removed, err := a.Uninstall.Remove(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, uninstall.RemoveResult{Outcome: manifests.OutcomeGone}, removed)
	reported, err := a.Steps.Report(t.Context(), manifests.ReportInput{Ref: other, Observed: readiness.Observed{State: shared.StateReady}, Settled: true}, true)
	require.NoError(t, err)
	require.Equal(t, manifests.ReportResult{Outcome: manifests.OutcomeGone}, reported)
}

func TestAStageBeginsOnlyForTheUnchangedManifestThatWasRead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, c client.Client, m *v1beta2.Manifest)
		stops  bool
	}{
		"nothing happened": {change: func(*testing.T, client.Client, *v1beta2.Manifest) {}},
		"only its status was written": {change: func(t *testing.T, c client.Client, m *v1beta2.Manifest) {
			m.Status.State = shared.StateReady
			require.NoError(t, c.Status().Update(t.Context(), m))
		}},
		"its spec changed": {stops: true, change: func(t *testing.T, c client.Client, m *v1beta2.Manifest) {
			m.Generation++
			require.NoError(t, c.Update(t.Context(), m))
		}},
		"it is being deleted": {stops: true, change: func(t *testing.T, c client.Client, m *v1beta2.Manifest) {
			require.NoError(t, c.Delete(t.Context(), m))
		}},
		"it is gone": {stops: true, change: func(t *testing.T, c client.Client, m *v1beta2.Manifest) {
			m.Finalizers = nil
			require.NoError(t, c.Update(t.Context(), m))
			require.NoError(t, c.Delete(t.Context(), m))
		}},
		"it is another one": {stops: true, change: func(t *testing.T, c client.Client, m *v1beta2.Manifest) { replaceManifest(t, c, m) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := sharedManifest("a", 1, nil)
			a, c := sharing(t, m)
			seen, err := a.Steps.Read(t.Context(), kick.RefOf(m))
			require.NoError(t, err)
			tc.change(t, c, seen.DeepCopy())
			if err := a.Steps.Unchanged(t.Context(), seen); tc.stops {
				require.ErrorIs(t, err, manifests.ErrChanged)
			} else {
				require.NoError(t, err)
			}
		})
	}
	m := sharedManifest("a", 1, nil)
	a, _ := sharing(t, m)
	failRequests(a, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errNoAnswer
	}})
	require.ErrorIs(t, a.Steps.Unchanged(t.Context(), m), errNoAnswer, "without an answer it does not continue")
}

func TestFinalizersAreAddedAndRemovedAtTheVersionThatWasRead(t *testing.T) {
	bare := sharedManifest("a", 1, func(m *v1beta2.Manifest) { m.Finalizers = nil })
	a, c := sharing(t, bare)
	stale, err := a.Steps.Read(t.Context(), kick.RefOf(bare))
	require.NoError(t, err)
	now := stale.DeepCopy()
	now.Generation++
	require.NoError(t, c.Update(t.Context(), now))
	require.Error(t, a.Steps.AddFinalizers(t.Context(), stale), "somebody changed it meanwhile")
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(bare), now))
	require.Empty(t, now.Finalizers)
	require.NoError(t, a.Steps.AddFinalizers(t.Context(), now))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(bare), now))
	require.Equal(t, desired.ManifestFinalizers(), now.Finalizers)

	// The deleted one is already replaced: its replacement keeps its finalizers.
	m := sharedManifest("b", 1, nil)
	a, c = sharing(t, m)
	require.NoError(t, c.Delete(t.Context(), m))
	deleted, err := a.Steps.Read(t.Context(), kick.RefOf(m))
	require.NoError(t, err)
	next := replaceManifest(t, c, deleted)
	require.NoError(t, a.Steps.RemoveFinalizers(t.Context(), deleted))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(next), next))
	require.EqualValues(t, "another", next.UID)
	require.Equal(t, desired.ManifestFinalizers(), next.Finalizers)
}

// What was written must reach the Kyma's status, also if the result of the attempt that wrote is lost.
func TestAWrittenStatusIsNewsForTheKyma(t *testing.T) {
	controls := true
	m := sharedManifest("a", 1, func(m *v1beta2.Manifest) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "operator.kyma-project.io/v1beta2", Kind: "Kyma", Name: "a", UID: "k", Controller: &controls}}
	})
	a, _ := sharing(t, m)
	in := manifests.ReportInput{Ref: kick.RefOf(m), Observed: readiness.Observed{State: shared.StateReady}, Settled: true}
	result, err := a.Steps.Report(t.Context(), in, true)
	require.NoError(t, err)
	require.Equal(t, "Manifest is Ready", result.Kick.Reason)
	require.True(t, result.Kick.Urgent, "it has settled")

	result, err = a.Steps.Report(t.Context(), in, true)
	require.NoError(t, err)
	require.Nil(t, result.Kick, "nothing changed")
	result, err = a.Steps.Report(t.Context(), in, false)
	require.NoError(t, err)
	require.NotNil(t, result.Kick, "the result of an earlier attempt may be lost")

	failRequests(a, interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
		return errNoAnswer
	}})
	in.Observed.State = shared.StateError
	result, err = a.Steps.Report(t.Context(), in, true)
	require.ErrorIs(t, err, errNoAnswer)
	require.Nil(t, result.Kick, "nothing was written")
}

func TestAStatusIsWrittenAtTheVersionThatWasRead(t *testing.T) {
	m := sharedManifest("a", 1, nil)
	a, c := sharing(t, m)
	stale, err := a.Steps.Read(t.Context(), kick.RefOf(m))
	require.NoError(t, err)
	now := stale.DeepCopy()
	now.Status.InstalledVersion = "theirs"
	require.NoError(t, c.Status().Update(t.Context(), now))
	_, err = a.Steps.WriteStatus(t.Context(), stale, func(s *v1beta2.ManifestStatus) { s.State = shared.StateReady })
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(m), now))
	require.Equal(t, "theirs", now.Status.InstalledVersion)
}

// activityEnvironment runs activities as workers do that are about to stop: a wait reads once.
func activityEnvironment() *testsuite.TestActivityEnvironment {
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []sdkinterceptor.WorkerInterceptor{worker.Heartbeats()}})
	stopping := make(chan struct{})
	close(stopping)
	env.SetWorkerStopChannel(stopping)
	return env
}

// waitAfter runs one attempt of a wait that cannot read, after so many failed ones. It returns why the wait goes on or gives up, when
// the next attempt begins, and how many failed reads that knows of.
func waitAfter(t *testing.T, failedBefore int, failure error) (why fault.Fault, next time.Duration, remembered int) {
	t.Helper()
	m := sharedManifest("a", 1, nil)
	a, _ := sharing(t, m)
	failRequests(a, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return failure
	}})
	env := activityEnvironment()
	env.RegisterActivity(a.Install.FollowModules)
	env.RegisterActivity(a.Uninstall.WaitRemoval)
	reported := manifests.WaitDetails{Reads: []int{failedBefore}}
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		require.NoError(t, details.Get(&reported))
	})
	if failedBefore > 0 {
		env.SetHeartbeatDetails(reported)
	}
	value, err := env.ExecuteActivity(a.Install.FollowModules, install.FollowInput{Modules: []install.Followed{{Ref: kick.RefOf(m)}}})
	if err != nil {
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category(), "no error metrics, no warnings")
		why, next = fault.FromTemporal(err), app.NextRetryDelay()
	} else {
		var news []install.ModuleNews
		require.NoError(t, value.Get(&news))
		require.Len(t, news, 1)
		why = news[0].Fault
	}
	_, removal := env.ExecuteActivity(a.Uninstall.WaitRemoval, uninstall.RemoveInput{Ref: kick.RefOf(m)})
	require.Equal(t, why.Kind, fault.FromTemporal(removal).Kind, "a removal is waited for in the same way")
	return why, next, reported.Reads[0]
}

func TestAWaitGivesUpAfterFiveFailedReads(t *testing.T) {
	for before := range 4 {
		why, next, remembered := waitAfter(t, before, errNoAnswer)
		require.Equal(t, fault.Pending, why.Kind, "after %d", before)
		require.GreaterOrEqual(t, next, 2*time.Second)
		require.Equal(t, before+1, remembered, "for the next attempt, in the server and not in the history")
	}
	why, _, _ := waitAfter(t, 4, errNoAnswer)
	require.Equal(t, fault.Fault{Kind: fault.Transient, Reason: "Error", Message: "read Manifest kcp-system/a-keda: no answer"}, why)

	why, _, _ = waitAfter(t, 0, fault.New(fault.Rejected, "Forbidden", "no"))
	require.Equal(t, fault.Rejected, why.Kind, "what cannot succeed without a change is reported at once")
}

func TestTheReadsOfAWaitBecomeFewer(t *testing.T) {
	for elapsed, pause := range map[time.Duration]time.Duration{
		0: time.Second, 19 * time.Second: time.Second, time.Minute: 6 * time.Second, 5 * time.Minute: 30 * time.Second, 50 * time.Minute: 30 * time.Second,
	} {
		require.Equal(t, pause, manifests.Wait{Elapsed: elapsed}.Pause(), "after %s", elapsed)
	}
}
