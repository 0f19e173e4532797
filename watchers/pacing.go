package watchers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// placeTimeout is how long a Kyma that was kicked keeps its place, if nothing shows that it applied the change.
const placeTimeout = 30 * time.Second

// pacer kicks the Kymas that a change concerns, such as a new version in a channel, one after the other: each when it is
// its turn in the pacing span, and no more at once than there are places. Kicks beyond what the workers can handle
// would wait in the queues of workflow tasks, which are served in the order of arrival, and the reconciles that somebody
// waits for would wait behind them.
//
// Nothing of this is stored: the next leader finds by the digests which Kymas have not applied a change.
type pacer struct {
	now    func() time.Time
	places *semaphore.Weighted
	// overtakes is by how many others a Kyma is overtaken before it loses its place: it then waits for its own cluster, and
	// not for what all wait for. A time could not distinguish these.
	overtakes int
	// passed are requests of the watcher of Kymas.
	passed chan event.TypedGenericEvent[kymaRequest]

	mu sync.Mutex
	// turns are when it is the turn of the Kymas that wait for it.
	turns map[types.UID]turn
	// underWay are the Kymas that were kicked, and have not shown yet that they applied the change.
	underWay map[types.UID]*place
	// entered is how many places were taken so far.
	entered int
}

type turn struct {
	digest string
	at     time.Time
}

type place struct {
	// digest is that of the inputs for which the Kyma was kicked.
	digest string
	ends   *time.Timer
	// entered is the order in which places are taken, overtaken how many were taken later and are free again already.
	entered, overtaken int
}

func newPacer(atOnce int, now func() time.Time) *pacer {
	return &pacer{
		now: now, places: semaphore.NewWeighted(int64(atOnce)), overtakes: max(2, atOnce/2),
		passed: make(chan event.TypedGenericEvent[kymaRequest]),
		turns:  map[types.UID]turn{}, underWay: map[types.UID]*place{},
	}
}

// addPacing gives paced changes a queue and goroutines of their own, since these wait for places.
func (w *watcher) addPacing(mgr manager.Manager) error {
	build := builder.TypedControllerManagedBy[kymaRequest](mgr).Named("pacing").
		WatchesRawSource(source.TypedChannel(w.pacer.passed, handler.TypedFuncs[kymaRequest, kymaRequest]{
			GenericFunc: func(_ context.Context, e event.TypedGenericEvent[kymaRequest], q kymaQueue) { q.Add(e.Object) },
		})).
		WithOptions(controller.TypedOptions[kymaRequest]{MaxConcurrentReconciles: concurrency, LogConstructor: logsOf(mgr, "pacing", aboutKyma)})
	for _, src := range w.catalogSources(mgr) {
		build = build.WatchesRawSource(src)
	}
	return build.Complete(reconcile.TypedFunc[kymaRequest](w.paceKyma))
}

// paceKyma kicks a Kyma for a change that concerns many, when it is its turn and there is a place for it.
func (w *watcher) paceKyma(ctx context.Context, req kymaRequest) (reconcile.Result, error) {
	kyma, digest, err := w.behind(ctx, req)
	if kyma != nil && w.kymaKick(kyma, req).Urgent {
		return reconcile.Result{}, w.sendKyma(ctx, kyma, req)
	}
	// A Kyma that is not to be reconciled would be kicked in vain. It is kicked when that changes.
	if err != nil || kyma == nil || kyma.IsSkipReconciliation() {
		w.pacer.forget(req.UID)
		return reconcile.Result{}, err
	}
	spread := w.Settings.PacingSpan
	if req.Cause.Paced {
		spread = 0 // what a rollout releases is not to be delayed further
	}
	if wait := w.pacer.wait(req.UID, digest, spread); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	// One whose cluster cannot be reached costs little, and would keep its place to the end.
	if !kyma.IsMarkedUnreachable() {
		if err := w.pacer.enter(ctx, req.UID); err != nil {
			return reconcile.Result{}, err
		}
		// That may have taken long.
		if kyma, digest, err = w.behind(ctx, req); err != nil || kyma == nil {
			w.pacer.forget(req.UID)
			return reconcile.Result{}, err
		}
	}
	if w.pacer.begin(req.UID, digest) {
		if err := w.sendKyma(ctx, kyma, req); err != nil {
			w.pacer.free(req.UID)
			return reconcile.Result{}, err
		}
	}
	w.pacer.endTurn(req.UID)
	return reconcile.Result{}, nil
}

// pass takes over a request of the watcher of Kymas.
func (r *pacer) pass(ctx context.Context, req kymaRequest) error {
	select {
	case r.passed <- event.TypedGenericEvent[kymaRequest]{Object: req}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait is how long a Kyma has to wait for its turn. A change meanwhile does not delay it further: otherwise a catalog that
// changes often would never be applied. What is not spread waits for no turn that it got before.
func (r *pacer) wait(uid types.UID, digest string, spread time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, waits := r.turns[uid]
	if of.digest != digest || spread == 0 {
		at := r.now().Add(desired.PacingDelay(uid, digest, spread))
		if waits && of.at.Before(at) {
			at = of.at
		}
		of = turn{digest: digest, at: at}
		r.turns[uid] = of
	}
	return of.at.Sub(r.now())
}

// enter waits for a place. A Kyma that has one keeps it.
func (r *pacer) enter(ctx context.Context, uid types.UID) error {
	r.mu.Lock()
	has := r.underWay[uid] != nil
	r.mu.Unlock()
	if has {
		return nil
	}
	if err := r.places.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for other Kymas to apply what changed: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay[uid] != nil {
		r.places.Release(1)
		return nil
	}
	r.entered++
	taken := &place{entered: r.entered}
	taken.ends = time.AfterFunc(placeTimeout, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end(uid, taken)
	})
	r.underWay[uid] = taken
	return nil
}

// begin tells whether a Kyma is to be kicked: not twice for the same inputs while it is under way.
func (r *pacer) begin(uid types.UID, digest string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.underWay[uid]
	if taken == nil {
		return true
	}
	again := taken.digest == digest
	taken.digest = digest
	return !again
}

// forget drops all that is known of a Kyma that needs no reconcile.
func (r *pacer) forget(uid types.UID) {
	r.endTurn(uid)
	r.free(uid)
}

func (r *pacer) endTurn(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.turns, uid)
}

// free ends the time of a Kyma under way.
func (r *pacer) free(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(uid, r.underWay[uid])
}

// done ends the time of a Kyma that applied a change, and of those that were kicked before it and overtaken too often.
func (r *pacer) done(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	finished := r.underWay[uid]
	if finished == nil {
		return
	}
	r.end(uid, finished)
	for slow, taken := range r.underWay {
		if taken.entered > finished.entered {
			continue
		}
		taken.overtaken++
		if taken.overtaken >= r.overtakes {
			r.end(slow, taken)
		}
	}
}

// end frees a place, once. The caller has locked mu.
func (r *pacer) end(uid types.UID, taken *place) {
	if taken == nil || r.underWay[uid] != taken {
		return
	}
	taken.ends.Stop()
	delete(r.underWay, uid)
	r.places.Release(1)
}

// progressed notes that the status of a Kyma was written: it applied what changed, or its cluster cannot be reached.
func (r *pacer) progressed(before, after *v1beta2.Kyma) {
	switch {
	case after.IsMarkedUnreachable():
		r.free(after.UID)
	case before.Status.InputsDigest != after.Status.InputsDigest:
		r.done(after.UID)
	}
}

// installed notes that a module was applied: what remains is to wait until it is ready, which takes long and costs little.
func (r *pacer) installed(before, after *v1beta2.Manifest) {
	if owner := metav1.GetControllerOf(after); owner != nil && before.Status.InstalledRef != after.Status.InstalledRef {
		r.done(owner.UID)
	}
}
