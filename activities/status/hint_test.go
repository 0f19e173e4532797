package status

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestAHintIsInBothStatusesAndInTheEvent(t *testing.T) {
	b := remoteBench(t)
	b.says(t, "keda", shared.StateError, "no such image")
	manifest := b.manifest(t, "keda")
	manifest.Status.LastOperation = manifest.Status.LastOperation.WithHint("push the image")
	require.NoError(t, b.control.Status().Update(context.Background(), manifest))
	b.report(t)
	here, there := b.kyma(t).Status, b.remoteKyma(t).Status
	require.Equal(t, "no such image", here.Modules[0].Message)
	require.Equal(t, "push the image", there.Modules[0].Hint)
	require.Equal(t, "module keda: no such image", here.LastOperation.Operation)
	require.Equal(t, "push the image", here.LastOperation.Hint)
	require.Contains(t, b.told, "Warning ModuleError: module keda: no such image [hint: push the image]")

	b.says(t, "keda", shared.StateReady, "")
	b.report(t)
	here = b.kyma(t).Status
	require.Empty(t, here.Modules[0].Hint)
	require.Empty(t, here.LastOperation.Hint)
}

func TestAFaultWithoutAHintGetsTheHintOfItsReason(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.ModeControlPlane)
	b.in.Faults = b.in.Faults.With(fault.PartSync, fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableUnauthorized, Message: "401"})
	b.report(t)
	require.Equal(t, "renew the credentials in the access Secret", b.kyma(t).Status.LastOperation.Hint)
	require.Contains(t, b.told, "Warning UnreachableUnauthorized: 401 [hint: renew the credentials in the access Secret]", "the Event has the reason of the access")
}

func TestADeletionHeldByALostClusterSaysHowToEndIt(t *testing.T) {
	lost := fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableNetwork, Message: "no route to host"}
	b := leavingBench(t)
	b.in.Faults, b.in.Push = b.in.Faults.With(fault.PartSync, lost), false
	b.report(t)
	hinted := b.kyma(t).Status.LastOperation.Hint
	require.Contains(t, hinted, "check that the cluster exists")
	require.Contains(t, hinted, "; if the cluster is permanently gone, lifecycle-manager purge kyma-sample -n kcp-system ends the deletion now")
	b.in.Purging = true
	b.report(t)
	require.NotContains(t, b.kyma(t).Status.LastOperation.Hint, "lifecycle-manager purge")
}

func TestAMissingAccessSecretIsReportedWordForWord(t *testing.T) {
	missing := fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonAccessSecretNotFound, Message: "access secret not found", Hint: "create it"}
	b := newBench(t, desiredtest.Kyma(), desired.ModeControlPlane)
	b.in.Faults = b.in.Faults.With(fault.PartSync, missing)
	require.Equal(t, "access secret not found", b.report(t).Message)
	require.Equal(t, "create it", b.kyma(t).Status.LastOperation.Hint)
	require.Contains(t, b.told, "Warning AccessSecretNotFound: access secret not found [hint: create it]")

	leaving := leavingBench(t)
	leaving.in.Faults, leaving.in.Push = leaving.in.Faults.With(fault.PartSync, missing), false
	require.Equal(t, "access secret not found", leaving.report(t).Message, "the message is the same under deletion, although there is more to report")
	at := leaving.kyma(t).DeletionTimestamp.Add(24 * time.Hour).UTC().Format(time.RFC3339)
	require.Equal(t, "create it; if the cluster is permanently gone, lifecycle-manager purge kyma-sample -n kcp-system ends the deletion now; waiting for modules to be deleted: keda (waiting for module crs deletion); it will be purged at "+at,
		leaving.kyma(t).Status.LastOperation.Hint)
}
