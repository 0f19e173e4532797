package resolve

import (
	"time"
)

// Activities holds the activities of this package.
type Activities struct {
	Options
	planner *Planner
}

// New returns the activities.
func New(options Options) (*Activities, error) {
	planner, err := NewPlanner(options)
	if err != nil {
		return nil, err
	}
	options = planner.Options
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Activities{options, planner}, nil
}
