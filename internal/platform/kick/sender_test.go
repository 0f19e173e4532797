package kick

import (
	"context"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
)

var demo = Ref{Namespace: "kcp-system", Name: "demo", UID: "uid"}

// counted counts kicks by reason.
type counted map[string]int

func (c counted) KickSent(reason string) { c[reason]++ }

// Each resource has one workflow, whoever sends the first kick. A kick signals an open workflow, and starts another one
// if the last has ended.
func TestAKickReachesTheOpenWorkflowOrStartsOne(t *testing.T) {
	manifest := Ref{Namespace: "kcp-system", Name: "demo-keda-1", UID: "manifest-uid"}
	for name, tc := range map[string]struct {
		send func(*Sender) error
		kick Kick
	}{
		"for the Kyma": {
			send: func(s *Sender) error { return s.Kyma(t.Context(), demo, Kick{Reason: "r"}) }, kick: Kick{Reason: "r"},
		},
		"for one of its Manifests": {
			send: func(s *Sender) error { return s.Manifest(t.Context(), demo, manifest, Kick{Reason: "r"}) },
			kick: Kick{Reason: "r", Work: true, Namespace: "kcp-system", Name: "demo-keda-1", UID: "manifest-uid"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, count := &mocks.Client{}, counted{}
			server.On("SignalWithStartWorkflow", mock.Anything, "kyma/kcp-system/demo/uid", "kick", tc.kick, client.StartWorkflowOptions{
				ID: "kyma/kcp-system/demo/uid", TaskQueue: "lifecycle-manager-control-plane", StaticSummary: "kcp-system/demo",
				TypedSearchAttributes:    Attributes{"KymaName": "demo"}.typed(),
				WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
				WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			}, "KymaWorkflow", Start{Ref: demo}).Return(&mocks.WorkflowRun{}, nil).Once()
			require.NoError(t, tc.send(NewSender(server, count, nil)))
			server.AssertExpectations(t)
			require.Equal(t, counted{"r": 1}, count)
		})
	}
}

// startingWith matches the options of a start with this number of search attributes.
func startingWith(attributes int) any {
	return mock.MatchedBy(func(o client.StartWorkflowOptions) bool { return o.TypedSearchAttributes.Size() == attributes })
}

// During a rolling update, or after the loss of Temporal's database, a server may not know a search attribute yet.
func TestAStartRefusedForItsSearchAttributesIsRepeatedWithoutThem(t *testing.T) {
	send := func(server *mocks.Client, with, without error) (counted, error) {
		signalled := func(options any, answer error) {
			server.On("SignalWithStartWorkflow", mock.Anything, mock.Anything, "kick", mock.Anything, options, "KymaWorkflow", mock.Anything).
				Return(&mocks.WorkflowRun{}, answer)
		}
		signalled(startingWith(1), with)
		signalled(startingWith(0), without)
		count := counted{}
		return count, NewSender(server, count, nil).Kyma(t.Context(), demo, Kick{Reason: "r"})
	}
	unknown := serviceerror.NewInvalidArgument("Namespace ns has no mapping defined for search attribute KymaName")

	server := &mocks.Client{}
	count, err := send(server, unknown, nil)
	require.NoError(t, err)
	require.Equal(t, counted{"r": 1}, count)
	server.AssertNumberOfCalls(t, "SignalWithStartWorkflow", 2)

	count, err = send(&mocks.Client{}, unknown, serviceerror.NewUnavailable("away"))
	require.ErrorContains(t, err, "away")
	require.Empty(t, count)

	server = &mocks.Client{}
	_, err = send(server, serviceerror.NewUnavailable("away"), nil)
	require.Error(t, err, "the caller retries with the search attributes")
	server.AssertNumberOfCalls(t, "SignalWithStartWorkflow", 1)
}

// If no workflow is open, the next one begins by reading the live objects, so nothing is lost.
func TestAKickWithoutAnOpenWorkflowCountsAsDelivered(t *testing.T) {
	send := func(answer error) (counted, error) {
		server, count := &mocks.Client{}, counted{}
		// The run id is empty, because the run may have continued as new.
		server.On("SignalWorkflow", mock.Anything, "kyma/kcp-system/demo/uid", "", "kick", Kick{Reason: "r"}).Return(answer)
		return count, NewSender(server, count, nil).OpenKyma(context.Background(), demo, Kick{Reason: "r"})
	}
	count, err := send(nil)
	require.NoError(t, err)
	require.Equal(t, counted{"r": 1}, count)

	count, err = send(serviceerror.NewNotFound("workflow not found"))
	require.NoError(t, err)
	require.Empty(t, count)

	count, err = send(serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "busy"))
	require.Error(t, err, "the caller retries")
	require.Empty(t, count)
}
