package main

import (
	"context"
	"fmt"
	"time"

	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
)

// definitionsWithin is how long a start waits for CustomResourceDefinitions that were applied just now.
const definitionsWithin = 20 * time.Second

// mayStart refuses what can only go wrong later, and returns a client of the control plane without a cache: what it is
// for is single objects, and a cache would follow all of their kind.
func mayStart(ctx context.Context, f *flags, temporalClient temporal.Client, namespace string) (client.Client, error) {
	config, err := connection.ControlPlane(f.kubeconfig, "")
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make the control plane client: %w", err)
	}
	schemas, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for schemas: %w", err)
	}
	record := recordOf(f)
	release := record.Namespace
	if f.role == roleWorkers {
		record = types.NamespacedName{}
	}
	return live, preflight.Start(ctx, preflight.Starting{
		ControlPlane: live, Schemas: schemas.OpenAPIV3(), Temporal: temporalClient, Namespace: namespace,
		Instance: f.settings.WithDefaults().ManagedBy, Release: release, Record: record, DefinitionsWithin: definitionsWithin,
	})
}
