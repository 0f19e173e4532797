// Package deployment decides which build's workers get the work where the workers are versioned (Temporal's Worker
// Deployment Versioning). Temporal gives a versioned worker nothing until somebody makes its version the current one; the
// leader does so. All workflows are AutoUpgrade: they continue with the current version.
package deployment

import (
	"fmt"
	"slices"
	"time"
)

// Name is the name of the worker deployment. Each instance has a Temporal namespace of its own, so one name is enough.
const Name = "lifecycle-manager"

// Unversioned stands for all workers that are not versioned, in the place of a build id.
const Unversioned = ""

// State is what Temporal says of the worker deployment.
type State struct {
	// Exists is false until a versioned worker polled for the first time.
	Exists bool
	// Current is the build id of the current version.
	Current string
	// Ramping is the version that gets a share of the workflows; nil where there is none.
	Ramping  *Ramping
	Versions []Version
	// Pollers are the builds whose workers poll at this time, Unversioned among them.
	Pollers map[string]Pollers

	token []byte
}

// Ramping is a version that gets a share of the workflows.
type Ramping struct {
	BuildID string
	Percent float32
	// Since is when the share was set.
	Since time.Time
}

// Version is a version of the worker deployment.
type Version struct {
	BuildID string
	// Activated is when it became current or ramping for the first time; zero for never.
	Activated time.Time
	// Deactivated is when it last stopped to be; zero for never, and while it is.
	Deactivated time.Time
	// Draining is true while workflows that began on it may need it. AutoUpgrade workflows never do.
	Draining bool
}

// Pollers say which task queues the workers of a build poll.
type Pollers int

// Pollers.
const (
	// NoQueue is polled: such a build does nothing.
	NoQueue Pollers = iota
	// SomeQueues are polled: its workers are starting or stopping.
	SomeQueues
	// EveryQueue is polled: it can be given all work.
	EveryQueue
)

// Ramp is how a new version gets the work: first Percent of the workflows for a time, then all. Zero is all at once.
type Ramp struct {
	Percent  float32
	Duration time.Duration
}

// Step is what to do. Exactly one of Current and Ramping is set, or none.
type Step struct {
	// Current is the build id to make current; nil for none.
	Current *string
	// Ramping is the build id to give Percent of the workflows; nil for none.
	Ramping *string
	Percent float32
	// Why is the reason, also for doing nothing.
	Why string
}

func setCurrent(buildID, why string) Step { return Step{Current: &buildID, Why: why} }

// Next decides what the leader does, of a build of its own (Unversioned where its workers are not versioned). A version
// that was current before and is not any more was taken back by somebody: it is made current again only where nobody else
// is there to work.
func Next(s State, own string, ramp Ramp, now time.Time) Step {
	switch {
	case !s.Exists:
		return Step{Why: "no versioned worker has polled yet"}
	case s.Current == own:
		return Step{Why: "this build is the current version"}
	case s.Pollers[s.Current] == NoQueue:
		return takeOver(s, own)
	case s.Pollers[own] != EveryQueue:
		return Step{Why: "the workers of this build do not poll every task queue yet"}
	case own == Unversioned:
		return Step{Why: "workers of the current version poll, and this process's are not versioned"}
	case s.Ramping != nil && s.Ramping.BuildID == own:
		return ramped(*s.Ramping, own, ramp, now)
	case !s.activated(own) && ramp.Percent > 0:
		return Step{Ramping: &own, Percent: ramp.Percent, Why: "it is new"}
	case !s.activated(own):
		return setCurrent(own, "it is new, and its workers poll every task queue")
	default:
		return Step{Why: "this build had been current or ramping, and was taken back"}
	}
}

// takeOver finds who can work where the workers of the current version are gone: this build, else any other.
func takeOver(s State, own string) Step {
	const why = "no worker of the current version polls"
	if s.Pollers[own] == EveryQueue {
		return setCurrent(own, why)
	}
	var others []string
	for build, polls := range s.Pollers {
		if polls == EveryQueue {
			others = append(others, build)
		}
	}
	if len(others) == 0 {
		return Step{Why: why + ", and those of no other poll every task queue"}
	}
	return setCurrent(slices.Max(others), why)
}

// ramped ends the ramp of this build when it is over. One with another share was set by somebody, who ends it as well.
func ramped(r Ramping, own string, ramp Ramp, now time.Time) Step {
	if r.Percent != ramp.Percent {
		return Step{Why: fmt.Sprintf("somebody gave it %g %% of the workflows", r.Percent)}
	}
	if over := r.Since.Add(ramp.Duration); now.Before(over) {
		return Step{Why: fmt.Sprintf("it has %g %% of the workflows until %s", r.Percent, over.UTC().Format(time.RFC3339))}
	}
	return setCurrent(own, "its ramp is over")
}

func (s State) activated(buildID string) bool {
	return slices.ContainsFunc(s.Versions, func(v Version) bool { return v.BuildID == buildID && !v.Activated.IsZero() })
}

// Former is the version that was current last, before the present one: where a roll-back leads to. It is false where
// there is none whose workers poll every task queue.
func (s State) Former() (string, bool) {
	best, at := Unversioned, time.Time{}
	for _, v := range s.Versions {
		if v.BuildID != s.Current && s.Pollers[v.BuildID] == EveryQueue && v.Deactivated.After(at) {
			best, at = v.BuildID, v.Deactivated
		}
	}
	if at.IsZero() {
		return Unversioned, s.Current != Unversioned && s.Pollers[Unversioned] == EveryQueue
	}
	return best, true
}

// Gets says what a build gets, for people.
func (s State) Gets(buildID string) string {
	switch {
	case s.Ramping != nil && s.Ramping.BuildID == buildID && s.Ramping.Percent > 0:
		return fmt.Sprintf("%g %% of the workflows", s.Ramping.Percent)
	case s.Current != buildID:
		return "nothing"
	case s.Ramping != nil && s.Ramping.Percent > 0:
		return "all other work"
	default:
		return "all work"
	}
}

// String implements fmt.Stringer.
func (p Pollers) String() string { return [...]string{"none", "some", "all"}[p] }
