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
	// prepare is done before.
	prepare []step
	// first is shown where the user may go on, all where the demo ends by itself.
	first, all step
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
			prepare: []step{d.createStagedFleet},
			first:   d.tourRollout, all: d.tourRollout, explain: d.explainRollout,
		}
	}
	return act{
		prepare: []step{d.startSampleOperator, d.pushModules, d.createKyma},
		first:   d.untilReady, all: d.untilAllIsReady, explain: d.explain,
	}
}
