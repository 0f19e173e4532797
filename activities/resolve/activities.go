package resolve

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
)

// Activities are the activities of this package.
type Activities struct {
	settings     desired.Settings
	controlPlane client.Client
	planner      *Planner
	known        *fleet.Fleet
	clusters     Clusters
	budget       Budget
	certificates Certificates
	events       EventRecorder
	refused      manifests.RefusalCounter
	now          func() time.Time
}

// New returns the activities.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil {
		return nil, errors.New("resolve: no control plane client")
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Known == nil {
		options.Known = fleet.Live(options.ControlPlane)
	}
	planner, err := NewPlanner(options)
	if err != nil {
		return nil, err
	}
	return &Activities{
		settings:     options.Settings.WithDefaults(),
		controlPlane: options.ControlPlane,
		planner:      planner,
		known:        options.Known,
		clusters:     options.Clusters,
		budget:       options.Budget,
		certificates: options.Certificates,
		events:       options.Events,
		refused:      options.Refused,
		now:          options.Now,
	}, nil
}
