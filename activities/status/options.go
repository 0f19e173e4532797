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
	// Reach returns access to the cluster that the access Secret of this Kyma leads to; its errors are
	// fault.Errors.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// EventRecorder records transitions. A client-go record.EventRecorder is one.
type EventRecorder = hint.Recorder

// Purges records what was abandoned; *purge.Recorder does.
type Purges interface {
	Abandon(ctx context.Context, kyma kick.Ref, message string) error
}

// Options are what the activities need.
type Options struct {
	// Settings are the instance's flags.
	Settings desired.Settings
	// ControlPlane reads and writes the control plane, uncached.
	ControlPlane client.Client
	// Known knows which Manifests there are; by default they are listed in the control plane.
	Known *fleet.Fleet
	// Planner says what each module resolves to; it is the one that resolve.NewPlanner made.
	Planner *resolve.Planner
	// Clusters gives access to remote clusters, for the copy of the status.
	Clusters Clusters
	// Events may be nil: then no Event is recorded.
	Events EventRecorder
	// Purges may be nil: then no Event says what was abandoned.
	Purges Purges
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Activities are the activities of this package.
type Activities struct{ Options }

// New returns the activities.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil || options.Planner == nil || options.Clusters == nil {
		return nil, errors.New("status: control plane client, planner and clusters are needed")
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
