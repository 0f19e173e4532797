package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// definitionsWithin bounds how long a start waits for CustomResourceDefinitions that were just applied.
const definitionsWithin = 20 * time.Second

// mayStart refuses conditions that can only fail later, and makes the client of the control plane without a cache: it reads single
// objects, and a cache would follow all objects of their kinds.
func (p *process) mayStart(ctx context.Context) error {
	scheme, err := cli.NewScheme()
	if err != nil {
		return err
	}
	config, err := cli.ControlPlane(p.kubeconfig, "")
	if err != nil {
		return err
	}
	if p.live, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make the control plane client: %w", err)
	}
	schemas, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for schemas: %w", err)
	}
	record := recordOf(p.flags)
	release := record.Namespace
	if !p.watches() {
		record = types.NamespacedName{}
	}
	if err := preflight.Start(ctx, preflight.Starting{
		ControlPlane: p.live, Schemas: schemas.OpenAPIV3(), Temporal: p.temporal, Namespace: p.namespace,
		Instance: p.settings.WithDefaults().ManagedBy, Release: release, Record: record, DefinitionsWithin: definitionsWithin,
	}); err != nil {
		return err
	}
	if err := p.takeRegistry(ctx, p.live); err != nil {
		return err
	}
	// A workflow that upserts an unregistered search attribute would be stuck, so register them before anything starts.
	_, err = worker.EnsureSearchAttributes(ctx, p.temporal, p.namespace)
	return err
}
