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

// placeTimeout is how long a kicked Kyma keeps its place if nothing shows that it applied the change.
const placeTimeout = 30 * time.Second

// pacer kicks the Kymas that a change concerns, such as a new version in a channel. Each Kyma is kicked at its turn in
// the pacing span, and no more Kymas are in progress at once than there are places. More kicks than the workers can
// handle would wait in the workflow task queues. These queues are served in order of arrival, so urgent reconciles
// would wait behind those kicks.
//
// The pacer stores nothing. The next leader finds the Kymas that have not applied a change by their digests.
type pacer struct {
	now    func() time.Time
	places *semaphore.Weighted
	// overtakes is how many other Kymas may finish before a Kyma that began earlier loses its place. Such a Kyma waits
	// for its own slow cluster, not for a shared bottleneck. A timeout could not tell the two apart.
	overtakes int
	// passed carries the requests that the watcher of Kymas hands over.
	passed chan event.TypedGenericEvent[kymaRequest]

	mu sync.Mutex
	// turns holds the turn of each waiting Kyma.
	turns map[types.UID]turn
	// underWay holds the Kymas that were kicked and have not yet shown that they applied the change.
	underWay map[types.UID]*place
	// entered counts the places taken so far.
	entered int
}

type turn struct {
	digest string
	at     time.Time
}

type place struct {
	// digest is the inputs digest that the Kyma was kicked for.
	digest string
	ends   *time.Timer
	// entered is the position in the order in which places were taken. overtaken counts the places that were taken
	// later and are already free again.
	entered, overtaken int
}

func newPacer(atOnce int, now func() time.Time) *pacer {
	return &pacer{
		now: now, places: semaphore.NewWeighted(int64(atOnce)), overtakes: max(2, atOnce/2),
		passed: make(chan event.TypedGenericEvent[kymaRequest]),
		turns:  map[types.UID]turn{}, underWay: map[types.UID]*place{},
	}
}

// addPacing gives paced changes their own queue and goroutines, because these goroutines block while they wait for
// places.
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

// paceKyma kicks a Kyma for a change that concerns many, once its turn has come and a place is free.
func (w *watcher) paceKyma(ctx context.Context, req kymaRequest) (reconcile.Result, error) {
	kyma, digest, err := w.behind(ctx, req)
	if kyma != nil && w.kymaKick(kyma, req).Urgent {
		return reconcile.Result{}, w.sendKyma(ctx, kyma, req)
	}
	// Kicking a Kyma that must not be reconciled would be in vain. It is kicked when that changes.
	if err != nil || kyma == nil || kyma.IsSkipReconciliation() {
		w.pacer.forget(req.UID)
		return reconcile.Result{}, err
	}
	spread := w.Settings.PacingSpan
	if req.Cause.Paced {
		spread = 0 // a rollout's release must not be delayed further
	}
	if wait := w.pacer.wait(req.UID, digest, spread); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	// A Kyma with an unreachable cluster costs little, and would hold its place until the timeout.
	if !kyma.IsMarkedUnreachable() {
		if err := w.pacer.enter(ctx, req.UID); err != nil {
			return reconcile.Result{}, err
		}
		// Waiting for a place may have taken long, so compare again.
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

// pass accepts a request from the watcher of Kymas.
func (r *pacer) pass(ctx context.Context, req kymaRequest) error {
	select {
	case r.passed <- event.TypedGenericEvent[kymaRequest]{Object: req}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns how long a Kyma must wait for its turn. A further change does not delay the turn, else a catalog that
// changes often would never be applied. A change that is not spread ignores an earlier turn.
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

// enter waits for a place. A Kyma that has a place keeps it.
func (r *pacer) enter(ctx context.Context, uid types.UID) error {
	r.mu.Lock()
	has := r.underWay[uid] != nil
	r.mu.Unlock()
	if has {
		return nil
	}
	if err := r.places.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for other Kymas to apply the change: %w", err)
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

// begin reports whether to kick a Kyma. A Kyma in progress is not kicked twice for the same inputs.
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

// forget drops the turn and the place of a Kyma that needs no reconcile.
func (r *pacer) forget(uid types.UID) {
	r.endTurn(uid)
	r.free(uid)
}

func (r *pacer) endTurn(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.turns, uid)
}

// free frees the place of a Kyma.
func (r *pacer) free(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(uid, r.underWay[uid])
}

// done frees the place of a Kyma that applied a change, and the places of earlier Kymas that were overtaken too often.
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

// end frees a place, once. The caller must hold mu.
func (r *pacer) end(uid types.UID, taken *place) {
	if taken == nil || r.underWay[uid] != taken {
		return
	}
	taken.ends.Stop()
	delete(r.underWay, uid)
	r.places.Release(1)
}

// progressed handles a status write of a Kyma: the Kyma applied the change, or its cluster is unreachable.
func (r *pacer) progressed(before, after *v1beta2.Kyma) {
	switch {
	case after.IsMarkedUnreachable():
		r.free(after.UID)
	case before.Status.InputsDigest != after.Status.InputsDigest:
		r.done(after.UID)
	}
}

// installed handles a Manifest whose module was applied. Waiting for readiness takes long but costs little, so the Kyma
// frees its place.
func (r *pacer) installed(before, after *v1beta2.Manifest) {
	if owner := metav1.GetControllerOf(after); owner != nil && before.Status.InstalledRef != after.Status.InstalledRef {
		r.done(owner.UID)
	}
}
