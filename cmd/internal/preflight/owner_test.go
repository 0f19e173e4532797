package preflight

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// namespace is a Temporal namespace that knows only the workflow of its owner.
type namespace struct {
	memo   *commonpb.Memo
	closed bool
	denied error
	starts int
}

func (n *namespace) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if n.denied != nil {
		return nil, n.denied
	}
	if n.memo != nil && !n.closed {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("already started", "", "")
	}
	owner, err := converter.GetDefaultDataConverter().ToPayload(options.Memo[memoOwner])
	n.memo, n.closed = &commonpb.Memo{Fields: map[string]*commonpb.Payload{memoOwner: owner}}, false
	n.starts++
	return nil, err
}

func (n *namespace) DescribeWorkflow(context.Context, string, string) (*client.WorkflowExecutionDescription, error) {
	if n.memo == nil {
		return nil, serviceerror.NewNotFound("not found")
	}
	info := &workflowpb.WorkflowExecutionInfo{Memo: n.memo, StartTime: timestamppb.New(time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC))}
	if n.closed {
		info.CloseTime = timestamppb.Now()
	}
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}}, nil
}

func TestANamespaceBelongsToTheFirstClaimant(t *testing.T) {
	server := &namespace{}
	first := Owner{ControlPlane: "uid-1", Instance: "lifecycle-manager", Namespace: "kcp-system"}
	for range 3 {
		require.NoError(t, Claim(t.Context(), server, "fleet", first), "claiming again succeeds")
	}
	require.Equal(t, 1, server.starts)
	for name, other := range map[string]Owner{
		"another control plane's of the same name": {ControlPlane: "uid-2", Instance: "lifecycle-manager", Namespace: "kcp-system"},
		"another of the same control plane":        {ControlPlane: "uid-1", Instance: "second", Namespace: "kcp-system"},
		"another release of the same name":         {ControlPlane: "uid-1", Instance: "lifecycle-manager", Namespace: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			var owned *OwnedError
			require.ErrorAs(t, Claim(t.Context(), server, "fleet", other), &owned)
			require.Equal(t, first, owned.Owner)
			require.Equal(t, "the Temporal namespace fleet belongs to another instance (since 2026-11-24T03:00:00Z): "+
				"lifecycle-manager of the control plane whose kube-system has the uid uid-1, in its namespace kcp-system", owned.Error())
			require.Contains(t, owned.Remedy(), "temporal workflow terminate --namespace fleet --workflow-id lifecycle-manager-instance")
		})
	}
}

// An upgrade must not be refused because the previous build registered less.
func TestAnOwnerRegisteredByAnEarlierBuildIsTheSame(t *testing.T) {
	server := &namespace{}
	require.NoError(t, Claim(t.Context(), server, "fleet", Owner{ControlPlane: "uid-1", Instance: "lifecycle-manager"}))
	require.NoError(t, Claim(t.Context(), server, "fleet", Owner{ControlPlane: "uid-1", Instance: "lifecycle-manager", Namespace: "kcp-system"}))
	var owned *OwnedError
	require.ErrorAs(t, Claim(t.Context(), server, "fleet", Owner{ControlPlane: "uid-1", Instance: "second", Namespace: "kcp-system"}), &owned)
	require.Equal(t, 1, server.starts, "the owner is not registered again")
}

func TestANamespaceCanBeClaimedAfterItsOwnerWasTerminated(t *testing.T) {
	server := &namespace{}
	require.NoError(t, Claim(t.Context(), server, "fleet", Owner{ControlPlane: "gone", Instance: "lifecycle-manager"}))
	server.closed = true
	owner, _, err := OwnerOf(t.Context(), server)
	require.NoError(t, err)
	require.Nil(t, owner)
	successor := Owner{ControlPlane: "new", Instance: "lifecycle-manager"}
	require.NoError(t, Claim(t.Context(), server, "fleet", successor))
	owner, _, err = OwnerOf(t.Context(), server)
	require.NoError(t, err)
	require.Equal(t, &successor, owner)
}

func TestAFailedRegistrationIsReported(t *testing.T) {
	server := &namespace{denied: serviceerror.NewPermissionDenied("no", "")}
	err := Claim(t.Context(), server, "fleet", Owner{})
	require.ErrorContains(t, err, "register this instance in the Temporal namespace fleet")
	var owned *OwnedError
	require.NotErrorAs(t, err, &owned)
}
