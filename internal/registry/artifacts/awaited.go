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
	// firstAsk and lastAsk bound how long after a failure a registry is asked again for what workflows wait for. The wait
	// doubles with each failure.
	firstAsk = 5 * time.Second
	lastAsk  = time.Minute
	// forgetWaiter is when a workflow that has not asked again counts as gone: workflows ask at least every 20 minutes.
	forgetWaiter = 40 * time.Minute
)

// Waiter waits for a registry.
type Waiter struct {
	// Workflow is the id of the workflow.
	Workflow string
	// Manifest is the Manifest whose layers it waits for, and zero if the workflow waits for a component version.
	Manifest kick.Ref
}

type manifestKey struct{}

// ForManifest returns a context for the work on a Manifest: if a registry lacks one of its layers, the Manifest waits.
func ForManifest(ctx context.Context, manifest kick.Ref) context.Context {
	return context.WithValue(ctx, manifestKey{}, manifest)
}

// awaited has what workflows wait for because a registry did not give it: a layer or a component version that it did not
// have, what came damaged, or anything while the registry did not answer. The waits of workflows grow to 15 minutes, so
// that a lasting fault costs little. Asking the registry once for all that wait for the same costs less, so it is asked
// within a minute, and those that wait are woken.
type awaited struct {
	clock func() time.Time

	mu    sync.Mutex
	wants map[string]*want
	// ready are the waiters to wake.
	ready []Waiter
	// changed has an entry when there is something for Watch to do.
	changed chan struct{}
}

// want is one thing that workflows wait for.
type want struct {
	key, host string
	fetch     func(context.Context) error
	// waiters have the time of their last attempt.
	waiters  map[Waiter]time.Time
	failures int
	next     time.Time
}

func newAwaited(clock func() time.Time) *awaited {
	return &awaited{clock: clock, wants: map[string]*want{}, changed: make(chan struct{}, 1)}
}

// asked notes how a fetch for a workflow ended. host begins with the name of the registry.
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

// arrived wakes all that wait, and has the registry asked at once for what else it did not give.
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

// failed says when the registry is asked again.
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

// due are the wants that are to be asked for now, by registry, and when the next one is.
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

// askAgain asks the registries side by side, each for one thing after the other. One that does not answer is not asked for
// the rest of them in this round.
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
					a.note(Waiter{}, w.key, w.host, nil, nil) // also where a copy of an earlier answer does
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
		// It is there, and cannot be used: those that wait report it.
		for id := range w.waiters {
			a.ready = append(a.ready, id)
		}
		delete(a.wants, w.key)
	}
}
