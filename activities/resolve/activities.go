package resolve

import (
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/fleet"
)

// Activities are the activities of this package.
type Activities struct {
	Options
	planner *Planner
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
	options.Settings = options.Settings.WithDefaults()
	return &Activities{options, planner}, nil
}
