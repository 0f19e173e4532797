package status

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// leavingBench returns a bench with a Kyma under deletion whose only Manifest waits for something.
func leavingBench(t *testing.T) *bench {
	t.Helper()
	b := remoteBench(t)
	b.Settings.Purge = desired.PurgeSettings{Enabled: true, Grace: 24 * time.Hour}
	b.report(t)
	manifest := b.manifest(t, "keda")
	manifest.Finalizers = []string{shared.FinalizerManifest}
	require.NoError(t, b.control.Update(context.Background(), manifest))
	require.NoError(t, b.control.Delete(context.Background(), manifest))
	require.NoError(t, b.control.Delete(context.Background(), b.kyma(t)))
	b.says(t, "keda", shared.StateDeleting, "waiting for module crs deletion")
	b.in.InputsDigest = ""
	return b
}

func TestADeletionNamesWhatItWaitsForAndTheTimeOfThePurge(t *testing.T) {
	b := leavingBench(t)
	at := b.kyma(t).DeletionTimestamp.Add(24 * time.Hour).UTC().Format(time.RFC3339)
	require.Equal(t, "waiting for modules to be deleted: keda (waiting for module crs deletion)"+
		"; it will be purged at "+at, b.report(t).Message)
	b.in.Purging = true
	require.Contains(t, b.report(t).Message, "crs deletion); it is being purged")
}

func TestADeletionNamesMandatoryModulesToo(t *testing.T) {
	b := leavingBench(t)
	manifest := b.manifest(t, "keda")
	manifest.Labels[shared.LabelMandatoryModule] = "true"
	require.NoError(t, b.control.Update(context.Background(), manifest))
	require.Contains(t, b.report(t).Message, "waiting for modules to be deleted: keda (waiting for module crs deletion")
}

func TestAnInvalidGracePeriodIsReportedOnce(t *testing.T) {
	b := leavingBench(t)
	kyma := b.kyma(t)
	kyma.Annotations = map[string]string{shared.AnnotationPurgeGracePeriod: "a day"}
	require.NoError(t, b.control.Update(context.Background(), kyma))
	b.told = nil
	const problem = "the annotation operator.kyma-project.io/purge-grace-period is not a duration such as 36h, so the default of 24h0m0s applies"
	require.Contains(t, b.report(t).Message, problem)
	require.Contains(t, b.told, "Warning PurgeGracePeriodInvalid: "+problem+" [hint: correct the annotation]")
	b.told = nil
	b.in.Waiting = "something else"
	require.Contains(t, b.report(t).Message, problem)
	require.Empty(t, b.told)
}

// heldBench returns a bench with a Kyma under deletion without Manifests. Other finalizers hold the Kyma.
func heldBench(t *testing.T, finalizers ...string) (*bench, *v1beta2.Kyma) {
	t.Helper()
	b := leavingBench(t)
	manifest := b.manifest(t, "keda")
	manifest.Finalizers = nil
	require.NoError(t, b.control.Update(context.Background(), manifest))
	kyma := b.kyma(t)
	kyma.Finalizers = append(kyma.Finalizers, finalizers...)
	require.NoError(t, b.control.Update(context.Background(), kyma))
	return b, kyma
}

func TestReleasingRemovesTheFinalizerOfEarlierGenerationsToo(t *testing.T) {
	ctx := context.Background()
	b, _ := heldBench(t, shared.FinalizerPurge, "example.com/other")
	b.Purges = &purge.Recorder{ControlPlane: b.control, Now: func() time.Time { return b.now }}
	released, err := b.ReleaseKyma(ctx, ReleaseInput{Ref: b.in.Ref, Abandoned: "the catalog is left there"})
	require.NoError(t, err)
	require.Equal(t, OutcomeReleased, released.Outcome)
	require.Equal(t, []string{"example.com/other"}, b.kyma(t).Finalizers)
	require.Equal(t, []string{"PurgeAbandoned: the catalog is left there"}, b.events(t))
}

func TestReleasingAKymaHeldByOthersFinalizersReportsThem(t *testing.T) {
	ctx := context.Background()
	b, kyma := heldBench(t, "example.com/other")
	const waits = "waiting as other finalizers are present: [example.com/other]"

	b.control.Fail = func(verb, object string) error {
		if verb == "patch" && object == "Kyma "+kyma.Name {
			require.Equal(t, waits, b.kyma(t).Status.LastOperation.Operation, "the Kyma is not reconciled afterwards")
		}
		return nil
	}
	released, err := b.ReleaseKyma(ctx, ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeReleased, released.Outcome)
	require.Equal(t, waits, released.Message)
	require.Equal(t, waits, b.kyma(t).Status.LastOperation.Operation)
	require.Equal(t, shared.StateDeleting, b.kyma(t).Status.State)
	require.Equal(t, []string{"example.com/other"}, b.kyma(t).Finalizers)

	b.in.Waiting = "modules are being removed"
	require.Equal(t, waits, b.report(t).Message, "a workflow that reconciles again says the same")
	b.control.Forget()
	released, err = b.ReleaseKyma(ctx, ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Equal(t, OutcomeReleased, released.Outcome)
	require.Empty(t, b.control.Writes())
}

func TestAKymaHeldByHundredsOfFinalizersNamesTheFirst(t *testing.T) {
	var others []string
	for i := range 500 {
		others = append(others, fmt.Sprintf("example.com/other-%d", i))
	}
	b, _ := heldBench(t, others...)
	released, err := b.ReleaseKyma(context.Background(), ReleaseInput{Ref: b.in.Ref})
	require.NoError(t, err)
	require.Contains(t, released.Message, "example.com/other-9 ")
	require.LessOrEqual(t, len(released.Message), fault.MaxMessage)
	require.Equal(t, released.Message, b.report(t).Message, "a report says the same")
}

// During a deletion, only the write of the status copy sends requests to the cluster.
func TestDuringADeletionAClusterIsReachableOnlyAfterItAnswered(t *testing.T) {
	b := leavingBench(t)
	dead := fault.New(fault.Unreachable, clusters.ReasonUnreachableNetwork, "connection refused")
	b.in.Synced, b.unreachable = false, dead
	report := func(known error) ReportResult {
		b.in.Faults = b.in.Faults.With(fault.PartSync, fault.Of(known))
		return b.report(t)
	}
	first := report(nil)
	require.Equal(t, fault.Of(dead), first.Push)
	require.False(t, first.Pushed)

	result := report(dead)
	remote := b.kyma(t).Status.Remote
	require.False(t, *remote.Reachable)
	require.Equal(t, clusters.ReasonUnreachableNetwork, remote.Reason)
	require.NotNil(t, remote.Since)
	require.Contains(t, result.Modules[0].Message, "the cluster cannot be reached since")
	require.Contains(t, result.Message, "connection refused; waiting for modules to be deleted: keda", "the error hides nothing")

	since := *remote.Since
	b.now = b.now.Add(time.Hour)
	report(nil)
	remote = b.kyma(t).Status.Remote
	require.False(t, *remote.Reachable, "an attempt is not an answer")
	require.Equal(t, since, *remote.Since)

	b.unreachable = nil
	result = report(dead)
	require.True(t, result.Pushed)
	require.True(t, result.Push.IsZero())
	remote = b.kyma(t).Status.Remote
	require.True(t, *remote.Reachable)
	require.Empty(t, remote.Reason)
	require.NotContains(t, result.Message, "connection refused")
	require.NotContains(t, result.Modules[0].Message, "cannot be reached")
	require.Equal(t, shared.StateDeleting, b.remoteKyma(t).Status.State)
	require.Equal(t, result.Message, b.remoteKyma(t).Status.LastOperation.Operation, "the copy says the same")

	b.control.Forget()
	b.remote.Forget()
	require.True(t, report(nil).Pushed)
	require.Empty(t, append(b.control.Writes(), b.remote.Writes()...))
}

// events returns the Events that were written without a recorder.
func (b *bench) events(t *testing.T) []string {
	t.Helper()
	var list corev1.EventList
	require.NoError(t, b.control.List(context.Background(), &list))
	var all []string
	for _, e := range list.Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}
