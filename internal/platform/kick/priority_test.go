package kick

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/types"
)

// startedAs sends a kick and returns the priority of the workflow that the kick would start.
func startedAs(t *testing.T, send func(*Sender) error) temporal.Priority {
	t.Helper()
	server, started := &mocks.Client{}, temporal.Priority{}
	server.On("SignalWithStartWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		Run(func(args mock.Arguments) {
			options, given := args.Get(4).(client.StartWorkflowOptions)
			require.True(t, given)
			started = options.Priority
		}).Return(&mocks.WorkflowRun{}, nil)
	tenants := func(_ context.Context, kyma types.NamespacedName) string {
		return map[string]string{"kcp-system/demo": "account-7", "kcp-system/long": strings.Repeat("x", 65)}[kyma.String()]
	}
	require.NoError(t, send(NewSender(server, nil, tenants)))
	return started
}

// A Kyma's workflow sleeps between reconciles for months. If a new version had started it with a low priority, edits
// would come last ever after.
func TestTheWorkflowOfAKymaHasNoPriorityOfItsOwn(t *testing.T) {
	for _, urgent := range []bool{true, false} {
		started := startedAs(t, func(s *Sender) error { return s.Kyma(t.Context(), demo, Kick{Reason: "r", Urgent: urgent}) })
		require.Equal(t, temporal.Priority{FairnessKey: "account-7"}, started)
	}
}

func TestTemporalAcceptsEveryTenantAsFairnessKey(t *testing.T) {
	of := func(name string) string {
		ref := Ref{Namespace: "kcp-system", Name: name, UID: "u"}
		return startedAs(t, func(s *Sender) error { return s.Kyma(t.Context(), ref, Kick{Reason: "r"}) }).FairnessKey
	}
	require.Empty(t, of("without an account"))
	require.Len(t, of("long"), 64)
	require.NotContains(t, of("long"), "xxx")
}
