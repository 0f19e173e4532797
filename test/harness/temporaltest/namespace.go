// Package temporaltest makes Temporal namespaces for tests, with the search attributes of our workflows: [Namespace] in
// the Temporal server of the environment, [Take] in any server, prepared while the test before is running.
package temporaltest

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

// Namespace registers a namespace of its own for a test in the fleet's Temporal, with the search attributes of
// our workflows, and returns its name and a client for it.
func Namespace(t testing.TB, name string) (string, client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	namespace, temporal, err := newNamespace(ctx, testfleet.Require(t, "TEMPORAL_ADDRESS"), name)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	return namespace, temporal
}

// newNamespace registers a namespace in the Temporal at an address, with the search attributes of our
// workflows, and returns its name and a client, which the caller closes. It returns as soon as the namespace can be
// used, which takes some seconds, or with the last error when ctx ends.
func newNamespace(ctx context.Context, address, name string) (string, client.Client, error) {
	namespace := fmt.Sprintf("%s-%d", strings.ToLower(name), time.Now().UnixNano())
	if err := register(ctx, address, namespace); err != nil {
		return "", nil, err
	}
	temporal, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: NoLog{}})
	if err != nil {
		return "", nil, err
	}
	// The server's frontend sees a new namespace only after a refresh of its cache.
	last := errors.New("nothing was tried")
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if _, last = worker.EnsureSearchAttributes(ctx, temporal, namespace); last == nil {
			last = works(ctx, temporal, namespace)
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

// works returns an error when the server does not know the namespace or its search attributes.
func works(ctx context.Context, temporal client.Client, namespace string) error {
	_, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: "KymaName = 'none'"})
	return err
}

// NoLog keeps the SDK's logs out of the tests' output.
type NoLog struct{}

// Debug implements log.Logger.
func (NoLog) Debug(string, ...any) {}

// Info implements log.Logger.
func (NoLog) Info(string, ...any) {}

// Warn implements log.Logger.
func (NoLog) Warn(string, ...any) {}

// Error implements log.Logger.
func (NoLog) Error(string, ...any) {}
