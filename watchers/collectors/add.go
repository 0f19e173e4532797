package collectors

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// Add registers all collectors and lets the manager run those that poll. It registers the collector with a series per
// Kyma and module only if perCluster is true. Add returns the collector that asks Temporal.
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
			return nil, fmt.Errorf("register the fleet metrics: %w", err)
		}
	}
	return asked, mgr.Add(asked)
}

const (
	// pollEvery is the interval between polls of what no informer has; pollWithin bounds each poll.
	pollEvery, pollWithin = time.Minute, 30 * time.Second
)

// poll calls ask at once, and then regularly until ctx is done. It logs an error of ask with this message.
func poll(ctx context.Context, log logr.Logger, message string, ask func(context.Context) error) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		within, cancel := context.WithTimeout(ctx, pollWithin)
		defer cancel()
		if err := ask(within); err != nil && ctx.Err() == nil {
			log.V(1).Info(message, logkey.Error, err.Error())
		}
	}, pollEvery)
}
