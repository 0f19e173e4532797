package collectors

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
)

// Add registers all collectors, those with a series per Kyma and module only where perCluster says so, and has the manager
// run what they need. It returns the collector that asks Temporal.
func Add(ctx context.Context, mgr manager.Manager, registry prometheus.Registerer, settings desired.Settings, workflows WorkflowsOptions, perCluster bool) (*Workflows, error) {
	overview, err := NewOverview(ctx, mgr.GetCache(), mgr.Elected(), settings, nil)
	if err != nil {
		return nil, err
	}
	workflows.Log = mgr.GetLogger().WithName("temporal")
	asked := NewWorkflows(workflows)
	all := []prometheus.Collector{NewCatalog(mgr.GetCache(), mgr.Elected(), settings), NewRollouts(mgr.GetCache(), mgr.Elected(), settings), overview, asked}
	if perCluster {
		states, err := NewStates(ctx, mgr.GetCache(), mgr.Elected(), settings)
		if err != nil {
			return nil, err
		}
		all = append(all, states)
	}
	for _, each := range all {
		if err := registry.Register(each); err != nil {
			return nil, fmt.Errorf("register the metrics of the fleet: %w", err)
		}
	}
	return asked, mgr.Add(asked)
}
