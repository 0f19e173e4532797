package temporaltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
)

// prepared is one that is ready for the instance of a test.
type prepared struct {
	name   string
	client temporal.Client
}

// pool holds the next namespace of each Temporal, by address: making one takes seconds in which the server has
// nothing to do, so it is made while the test before is running.
type pool struct {
	mu   sync.Mutex
	next map[string]chan prepared
}

var next = pool{next: map[string]chan prepared{}}

// take waits for the namespace that is being prepared, and has the next one prepared. What it returns may no longer be
// there: some tests throw the server's database away.
func (n *pool) take(address string) prepared {
	n.mu.Lock()
	next, begun := n.next[address]
	if !begun {
		next = make(chan prepared, 1)
		n.next[address] = next
		prepare(address, next)
	}
	n.mu.Unlock()
	taken := <-next
	prepare(address, next)
	return taken
}

func prepare(address string, into chan<- prepared) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		// An error shows when the namespace is taken.
		name, client, _ := newNamespace(ctx, address, "e2e")
		into <- prepared{name: name, client: client}
	}()
}

// Take returns a namespace in the Temporal server at an address, and a client for it. It prepares the next one. What still
// runs in the namespace is terminated at the end of the test.
func Take(t testing.TB, address string) (string, temporal.Client) {
	t.Helper()
	n := next.take(address)
	if n.client == nil || works(t.Context(), n.client, n.name) != nil {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		var err error
		n.name, n.client, err = newNamespace(ctx, address, "e2e")
		require.NoError(t, err)
	}
	t.Cleanup(n.client.Close)
	t.Cleanup(func() { endWorkflows(n.client) })
	return n.name, n.client
}

// endWorkflows terminates what still runs in a namespace that has no worker any more: its sweeps would wake up for
// ever, and slow down the server for the following tests.
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
