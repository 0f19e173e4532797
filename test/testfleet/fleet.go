// Package testfleet gives tests access to the local fleet that `make test` has brought up. The fleet says
// where it is by environment variables (see test/fleet/README.md).
package testfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/worker"
)

// required is set by `make test`: then a missing fleet is a failure.
const required = "LM_TEST_REQUIRE_FLEET"

// Require returns the value of the fleet's variable. Without a fleet the test is skipped, unless one is
// required, as in `make test`.
func Require(t testing.TB, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		if os.Getenv(required) != "" {
			t.Fatalf("%s is not set, but a fleet is required", variable)
		}
		t.Skipf("needs the local fleet (%s is not set), which `make test` and `make bench` bring up", variable)
	}
	return value
}

// Root is the root of the repository.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	require.True(t, ok)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Binary is the path of a program that `make build` has made.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "bin", name)
	_, err := os.Stat(path)
	require.NoError(t, err, "run `make build` first")
	return path
}

// TemporalNamespace registers a namespace of its own for a test in the fleet's Temporal, with the search attributes of
// our workflows, and returns its name and a client for it.
func TemporalNamespace(t testing.TB, name string) (string, client.Client) {
	t.Helper()
	return TemporalNamespaceAt(t, Require(t, "TEMPORAL_ADDRESS"), name)
}

// TemporalNamespaceAt does the same in the Temporal at an address.
func TemporalNamespaceAt(t testing.TB, address, name string) (string, client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	namespace, temporal, err := NewTemporalNamespace(ctx, address, name)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	return namespace, temporal
}

// NewTemporalNamespace registers a namespace in the Temporal at an address, with the search attributes of our
// workflows, and returns its name and a client, which the caller closes. It returns as soon as the namespace can be
// used, which takes some seconds, or with the last error when ctx ends.
func NewTemporalNamespace(ctx context.Context, address, name string) (string, client.Client, error) {
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
			last = TemporalNamespaceWorks(ctx, temporal, namespace)
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

// TemporalNamespaceWorks returns an error when the server does not know the namespace or its search attributes.
func TemporalNamespaceWorks(ctx context.Context, temporal client.Client, namespace string) error {
	_, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: "KymaName = 'none'"})
	return err
}

// quiet keeps the SDK's logs out of the tests' output.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
