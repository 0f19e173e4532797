package harness

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
)

// temporalNamespace is one that is ready for the instance of a test.
type temporalNamespace struct {
	name   string
	client temporal.Client
}

// namespaces holds the next namespace of each Temporal, by address: making one takes seconds in which the server has
// nothing to do, so it is made while the test before is running.
type namespaces struct {
	mu   sync.Mutex
	next map[string]chan temporalNamespace
}

var preparedNamespaces = namespaces{next: map[string]chan temporalNamespace{}}

// take waits for the namespace that is being prepared, and has the next one prepared. What it returns may no longer be
// there: some tests throw the server's database away.
func (n *namespaces) take(address string) temporalNamespace {
	n.mu.Lock()
	next, begun := n.next[address]
	if !begun {
		next = make(chan temporalNamespace, 1)
		n.next[address] = next
		prepareNamespace(address, next)
	}
	n.mu.Unlock()
	taken := <-next
	prepareNamespace(address, next)
	return taken
}

func prepareNamespace(address string, into chan<- temporalNamespace) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		// Whoever takes it sees whether it works.
		name, client, _ := newTemporalNamespace(ctx, address, "e2e")
		into <- temporalNamespace{name: name, client: client}
	}()
}

// NewTemporalNamespace returns a fresh namespace for an instance, and has the sweeps in it beat.
func (s *Stage) NewTemporalNamespace() (string, temporal.Client) {
	s.T.Helper()
	address := s.Fleet.Temporal.Address
	n := preparedNamespaces.take(address)
	if n.client == nil || temporalNamespaceWorks(s.T.Context(), n.client, n.name) != nil {
		ctx, cancel := context.WithTimeout(s.T.Context(), 3*time.Minute)
		defer cancel()
		var err error
		n.name, n.client, err = newTemporalNamespace(ctx, address, "e2e")
		require.NoError(s.T, err)
	}
	s.T.Cleanup(n.client.Close)
	s.T.Cleanup(func() { endWorkflows(n.client) })
	s.Beat(n.client)
	return n.name, n.client
}

// endWorkflows terminates what still runs in a namespace that nobody works in any more: its sweeps would wake up for
// ever, and keep the server from serving the tests that follow.
func endWorkflows(namespace temporal.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	open, err := namespace.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: `ExecutionStatus="Running"`})
	if err != nil {
		return // the server is gone, with all that ran in it
	}
	for _, execution := range open.GetExecutions() {
		_ = namespace.TerminateWorkflow(ctx, execution.GetExecution().GetWorkflowId(), execution.GetExecution().GetRunId(), "the test has ended")
	}
}
