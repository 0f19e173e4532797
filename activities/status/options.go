package status

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Clusters gives access to the clusters of Kymas.
type Clusters interface {
	// Reach returns access to the cluster of this Kyma's access Secret. Its errors are fault.Errors.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// EventRecorder records Events. A client-go record.EventRecorder implements it.
type EventRecorder = hint.Recorder

// Purges records abandoned objects. *purge.Recorder implements it.
type Purges interface {
	Abandon(ctx context.Context, kyma kick.Ref, message string) error
}

// Options configures the activities.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads and writes the control plane without a cache.
	ControlPlane client.Client
	// Known knows which Manifests exist. By default it lists them in the control plane.
	Known *fleet.Fleet
	// Planner plans the modules of a Kyma. Create it with resolve.NewPlanner.
	Planner *resolve.Planner
	// Clusters gives access to remote clusters, for the copy of the status.
	Clusters Clusters
	// Events may be nil. Then no Event is recorded.
	Events EventRecorder
	// Purges may be nil. Then no Event records abandoned objects.
	Purges Purges
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Activities holds the activities of this package.
type Activities struct{ Options }

// New returns the activities.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil || options.Planner == nil || options.Clusters == nil {
		return nil, errors.New("status: ControlPlane, Planner and Clusters must not be nil")
	}
	if options.Known == nil {
		options.Known = fleet.Live(options.ControlPlane)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	options.Settings = options.Settings.WithDefaults()
	return &Activities{options}, nil
}
