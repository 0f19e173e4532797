package artifacts

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const (
	// firstAsk and lastAsk bound the delay between a failure and the next request to the registry on behalf of waiting
	// workflows. The delay doubles with each failure.
	firstAsk = 5 * time.Second
	lastAsk  = time.Minute
	// forgetWaiter is the time without a new attempt after which a workflow counts as gone. Workflows retry at least
	// every 20 minutes.
	forgetWaiter = 40 * time.Minute
)

// Waiter identifies a workflow that waits for a registry.
type Waiter struct {
	// Workflow is the id of the workflow.
	Workflow string
	// Manifest is the Manifest with the missing layer. It is zero if the workflow waits for a component version.
	Manifest kick.Ref
}

type manifestKey struct{}

// ForManifest returns a context for the work on a Manifest. If a registry lacks one of its layers, that Manifest waits
// for the layer.
func ForManifest(ctx context.Context, manifest kick.Ref) context.Context {
	return context.WithValue(ctx, manifestKey{}, manifest)
}

// awaited tracks what workflows wait for after a registry failed to deliver: a missing or damaged layer or component
// version, or anything while the registry did not answer. The workflows' own delays grow to 15 minutes, so that a
// persistent fault costs little. One request on behalf of all waiting workflows costs even less, so awaited asks the
// registry within a minute and wakes the waiters on success.
type awaited struct {
	clock func() time.Time

	mu    sync.Mutex
	wants map[string]*want
	// ready holds the waiters to wake.
	ready []Waiter
	// changed has an entry if there is work for Watch.
	changed chan struct{}
}

// want is one artifact that workflows wait for.
type want struct {
	key, host string
	fetch     func(context.Context) error
	// waiters maps each waiter to the time of its last attempt.
	waiters  map[Waiter]time.Time
	failures int
	next     time.Time
}

func newAwaited(clock func() time.Time) *awaited {
	return &awaited{clock: clock, wants: map[string]*want{}, changed: make(chan struct{}, 1)}
}

// asked records the result of a fetch for a workflow. host begins with the name of the registry.
func (a *awaited) asked(ctx context.Context, key, host string, err error, fetch func(context.Context) error) {
	var waiter Waiter
	if activity.IsActivity(ctx) {
		waiter.Manifest, _ = ctx.Value(manifestKey{}).(kick.Ref)
		waiter.Workflow = activity.GetInfo(ctx).WorkflowExecution.ID
	}
	a.note(waiter, key, host, err, fetch)
}

func (a *awaited) note(waiter Waiter, key, host string, err error, fetch func(context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.wants[key]
	if err == nil {
		if w != nil {
			delete(w.waiters, waiter)
			a.arrived(w)
		}
		return
	}
	if f := fault.Of(err); waiter.Workflow == "" || f.Kind != fault.Transient || f.Reason == "Error" {
		return
	}
	if w == nil {
		host, _, _ = strings.Cut(withoutScheme(host), "/")
		w = &want{key: key, host: host, fetch: fetch, waiters: map[Waiter]time.Time{}}
		w.failed(a.clock(), err)
		a.wants[key] = w
		a.notify()
	}
	w.waiters[waiter] = a.clock()
}

// arrived wakes all waiters of the artifact, and makes the other missing artifacts of the registry due at once.
func (a *awaited) arrived(w *want) {
	for id := range w.waiters {
		a.ready = append(a.ready, id)
	}
	delete(a.wants, w.key)
	for _, other := range a.wants {
		if other.host == w.host && other.failures > 0 {
			other.failures, other.next = 0, a.clock()
		}
	}
	a.notify()
}

func (a *awaited) notify() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// failed schedules the next request to the registry.
func (w *want) failed(now time.Time, err error) {
	wait := min(firstAsk<<min(w.failures, 10), lastAsk)
	w.failures++
	w.next = now.Add(max(wait, retryAfterOf(err)))
}

func (a *awaited) take() []Waiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	ready := a.ready
	a.ready = nil
	slices.SortFunc(ready, func(x, y Waiter) int {
		return cmp.Or(strings.Compare(x.Workflow, y.Workflow), strings.Compare(x.Manifest.Name, y.Manifest.Name))
	})
	return slices.Compact(ready)
}

// due returns the wants to request now, by registry, and the time until the next one is due.
func (a *awaited) due() (map[string][]*want, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, next := a.clock(), lastAsk
	due := map[string][]*want{}
	for key, w := range a.wants {
		for id, last := range w.waiters {
			if now.Sub(last) > forgetWaiter {
				delete(w.waiters, id)
			}
		}
		switch wait := w.next.Sub(now); {
		case len(w.waiters) == 0:
			delete(a.wants, key)
		case wait <= 0:
			due[w.host] = append(due[w.host], w)
		default:
			next = min(next, wait)
		}
	}
	return due, next
}

// askAgain asks the registries concurrently, each for one artifact after the other. After a registry does not answer,
// it gets no more requests in this round.
func (a *awaited) askAgain(ctx context.Context, due map[string][]*want) {
	var all sync.WaitGroup
	for _, wants := range due {
		slices.SortFunc(wants, func(x, y *want) int { return cmp.Compare(x.key, y.key) })
		all.Go(func() {
			for i, w := range wants {
				err := w.fetch(ctx)
				if ctx.Err() != nil {
					return
				}
				if err == nil {
					a.note(Waiter{}, w.key, w.host, nil, nil) // also if a copy of an earlier answer was used
					continue
				}
				failed := wants[i : i+1]
				reason := fault.Of(err).Reason
				silent := reason == ReasonRegistryUnavailable || reason == ReasonRegistryUnauthorized
				if silent {
					failed = wants[i:]
				}
				a.failedAgain(failed, err)
				if silent {
					return
				}
			}
		})
	}
	all.Wait()
}

func (a *awaited) failedAgain(wants []*want, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range wants {
		if fault.Of(err).Kind == fault.Transient {
			w.failed(a.clock(), err)
			continue
		}
		// The artifact exists but cannot be used. The waiting workflows report that.
		for id := range w.waiters {
			a.ready = append(a.ready, id)
		}
		delete(a.wants, w.key)
	}
}
