// Package deployment decides which build's workers get the work if workers are versioned with Temporal's Worker
// Deployment Versioning (flag --worker-versioning).
//
// Temporal gives tasks only to the current version of a worker deployment, or a share of them to a ramping version. A
// new version gets none before a client makes it current. In Lifecycle Manager the leader does this: Leader reads the
// State from Temporal with Deployment.Read every few seconds, Next plans a Step, and Deployment.Do takes the step.
// Operators do the same with `lifecycle-manager worker-version`.
//
// What must stay true:
//
//   - Next is pure and depends only on what Temporal reports, so a new leader continues where the last one stopped.
//   - The leader never overrules an operator: a version that was current before becomes current again only if no worker
//     of the current version polls.
//   - All workflows are AutoUpgrade: they continue on the current version.
package deployment

import (
	"fmt"
	"slices"
	"time"
)

// Name is the name of the worker deployment. One name is enough, because each instance has its own Temporal
// namespace.
const Name = "lifecycle-manager"

// Unversioned replaces the build id of workers that are not versioned.
const Unversioned = ""

// State is what Temporal reports about the worker deployment.
type State struct {
	// Exists is true once a versioned worker has polled.
	Exists bool
	// Current is the build id of the current version.
	Current string
	// Ramping is the version that gets a share of the workflows, or nil.
	Ramping  *Ramping
	Versions []Version
	// Pollers holds the builds whose workers are polling, including Unversioned.
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
	// Activated is when the version first became current or ramping. Zero means never.
	Activated time.Time
	// Deactivated is when the version last stopped being current or ramping. It is zero if that never happened, or if
	// it is current or ramping now.
	Deactivated time.Time
	// Draining is true while workflows that began on the version may need it. AutoUpgrade workflows never do.
	Draining bool
}

// Pollers says how many task queues the workers of a build poll.
type Pollers int

// Values of Pollers.
const (
	// NoQueue: the build gets no work.
	NoQueue Pollers = iota
	// SomeQueues: its workers are starting or stopping.
	SomeQueues
	// EveryQueue: it can get all work.
	EveryQueue
)

// Ramp defines how a new version gets the work: Percent of the workflows for Duration, then all. The zero value means
// all at once.
type Ramp struct {
	Percent  float32
	Duration time.Duration
}

// Step is a change of the worker deployment. At most one of Current and Ramping is set.
type Step struct {
	// Current is the build id to make current, or nil.
	Current *string
	// Ramping is the build id that gets Percent of the workflows, or nil.
	Ramping *string
	Percent float32
	// Why is the reason, even if nothing has to change.
	Why string
}

func setCurrent(buildID, why string) Step { return Step{Current: &buildID, Why: why} }

// Next decides what the leader does for its own build, or for Unversioned if its workers are not versioned. If a
// version was current before and no longer is, an operator took it back. Next makes that version current again only
// if no worker of the current version polls.
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
		return Step{Why: "workers of the current version poll, and the workers of this process are not versioned"}
	case s.Ramping != nil && s.Ramping.BuildID == own:
		return ramped(*s.Ramping, own, ramp, now)
	case !s.activated(own) && ramp.Percent > 0:
		return Step{Ramping: &own, Percent: ramp.Percent, Why: "this build is new"}
	case !s.activated(own):
		return setCurrent(own, "this build is new, and its workers poll every task queue")
	default:
		return Step{Why: "this build was current or ramping before and was taken back; to use it, run lifecycle-manager worker-version set-current"}
	}
}

// takeOver chooses a build if the workers of the current version are gone: this build, or else another one.
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
		return Step{Why: why + ", and no other build polls every task queue"}
	}
	return setCurrent(slices.Max(others), why)
}

// ramped ends the ramp of this build after its duration. If the share differs from the flag, an operator set it and
// has to end it.
func ramped(r Ramping, own string, ramp Ramp, now time.Time) Step {
	if r.Percent != ramp.Percent {
		return Step{Why: fmt.Sprintf("an operator gave this build %g %% of the workflows", r.Percent)}
	}
	if over := r.Since.Add(ramp.Duration); now.Before(over) {
		return Step{Why: fmt.Sprintf("this build has %g %% of the workflows until %s", r.Percent, over.UTC().Format(time.RFC3339))}
	}
	return setCurrent(own, "its ramp is over")
}

func (s State) activated(buildID string) bool {
	return slices.ContainsFunc(s.Versions, func(v Version) bool { return v.BuildID == buildID && !v.Activated.IsZero() })
}

// Former returns the version that was current before the present one, which is the target of a rollback. It returns
// false if there is none with workers that poll every task queue.
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

// Gets returns, for people, the share of work that a build gets.
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
