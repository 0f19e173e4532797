package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// step is one thing that the demo does.
type step func(context.Context) error

// act is what the demo shows once Lifecycle Manager runs.
type act struct {
	// push pushes what is installed into the registry, while the clusters start.
	push step
	// withAgent has the agent run in the remote cluster. There is room for that of one Kyma.
	withAgent bool
	// prepare comes once Lifecycle Manager has been started.
	prepare []step
	// all is what is shown.
	all step
	// explain says what to open and to try then.
	explain step
}

// rolloutTour shows versions that reach clusters in stages.
const rolloutTour = "rollout"

// tourNames are the tours that there are.
func tourNames() []string { return []string{rolloutTour} }

var errUnknownTour = errors.New("there is no such tour")

func checkTour(name string) error {
	if slices.Contains(tourNames(), name) {
		return nil
	}
	return fmt.Errorf("%w; there is: %s", errUnknownTour, strings.Join(tourNames(), ", "))
}

// act is the tour that was asked for; without one, a Kyma whose modules become Ready.
func (d *demo) act() act {
	if d.tour == rolloutTour {
		return act{
			push: d.pushFirstVersion, prepare: []step{d.createStagedFleet},
			all: d.tourRollout, explain: d.explainRollout,
		}
	}
	return act{
		push: d.pushModules, withAgent: true, prepare: []step{d.startSampleOperator, d.createKyma},
		all: d.showModules, explain: d.explain,
	}
}
