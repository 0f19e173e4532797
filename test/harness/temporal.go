package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// TemporalNamespace registers a namespace of its own for a test in the fleet's Temporal, with the search attributes of
// our workflows, and returns its name and a client for it.
func TemporalNamespace(t testing.TB, name string) (string, client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	namespace, temporal, err := newTemporalNamespace(ctx, testfleet.Require(t, "TEMPORAL_ADDRESS"), name)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	return namespace, temporal
}

// newTemporalNamespace registers a namespace in the Temporal at an address, with the search attributes of our
// workflows, and returns its name and a client, which the caller closes. It returns as soon as the namespace can be
// used, which takes some seconds, or with the last error when ctx ends.
func newTemporalNamespace(ctx context.Context, address, name string) (string, client.Client, error) {
	namespace := fmt.Sprintf("%s-%d", strings.ToLower(name), time.Now().UnixNano())
	if err := register(ctx, address, namespace); err != nil {
		return "", nil, err
	}
	temporal, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}})
	if err != nil {
		return "", nil, err
	}
	// The server's frontend sees a new namespace only after a refresh of its cache.
	last := errors.New("nothing was tried")
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if _, last = worker.EnsureSearchAttributes(ctx, temporal, namespace); last == nil {
			last = temporalNamespaceWorks(ctx, temporal, namespace)
		}
		return last == nil, nil
	})
	if err != nil {
		temporal.Close()
		return "", nil, fmt.Errorf("wait for the Temporal namespace %s: %w", namespace, last)
	}
	return namespace, temporal, nil
}

func register(ctx context.Context, address, namespace string) error {
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: address})
	if err != nil {
		return err
	}
	defer namespaces.Close()
	return namespaces.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
}

// temporalNamespaceWorks returns an error when the server does not know the namespace or its search attributes.
func temporalNamespaceWorks(ctx context.Context, temporal client.Client, namespace string) error {
	_, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: "KymaName = 'none'"})
	return err
}

// quiet keeps the SDK's logs out of the tests' output.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
