package watchers

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

var templateChanged = cause{Kind: "ModuleTemplate", Namespace: "kcp-system", Name: "t", ResourceVersion: "7"}

// behindBy returns Kymas that have not applied a catalog change.
func behindBy(count int, change func(*v1beta2.Kyma)) []client.Object {
	var kymas []client.Object
	for i := range count {
		kymas = append(kymas, kymaWith(func(k *v1beta2.Kyma) {
			k.Name, k.UID, k.Status.InputsDigest = fmt.Sprint("k", i), types.UID(fmt.Sprint("uid-", i)), "before"
			if change != nil {
				change(k)
			}
		}))
	}
	return kymas
}

func ofCatalog(kyma client.Object) kymaRequest {
	return kymaRequest{Ref: kick.RefOf(kyma), Cause: templateChanged}
}

func tookIn(kyma client.Object) (before, after *v1beta2.Kyma) {
	before, _ = kyma.(*v1beta2.Kyma)
	after = before.DeepCopy()
	after.Status.InputsDigest = "now"
	return before, after
}

// pacedByTwo starts a paced change with two places. The Kymas enter in the given order. Call it in a synctest bubble.
func pacedByTwo(t *testing.T, kymas []client.Object) (*watcher, *recorder) {
	t.Helper()
	w, kicks, _ := newWatcher(t, kymas...)
	w.Settings.PacingSpan = 0
	w.pacer = newPacer(2, time.Now)
	for _, kyma := range kymas {
		go func() { _, _ = w.paceKyma(t.Context(), ofCatalog(kyma)) }()
		synctest.Wait()
	}
	require.Len(t, kicks.sent, 2)
	return w, kicks
}

func TestWhomAPacedChangeKicks(t *testing.T) {
	for name, tc := range map[string]struct {
		kyma   *v1beta2.Kyma
		reason string
		urgent bool
		waits  bool
	}{
		"one that must apply the template": {kyma: kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest = "before" }), reason: "ModuleTemplate changed", waits: true},
		"not one that has applied it":      {kyma: kymaWith(nil)},
		"not one with skip-reconciliation": {kyma: kymaWith(func(k *v1beta2.Kyma) {
			k.Status.InputsDigest, k.Labels = "before", map[string]string{"operator.kyma-project.io/skip-reconciliation": "true"}
		})},
		"one with a removal that the template may fix": {kyma: kymaWith(func(k *v1beta2.Kyma) {
			k.Status.Modules = []v1beta2.ModuleStatus{{Name: "m", State: "Deleting"}}
		}), reason: "ModuleTemplate changed", waits: true},
		"one that changed itself, at once": {kyma: kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest, k.Generation = "before", 3 }), reason: "Kyma changed", urgent: true},
		"one under deletion, at once": {kyma: kymaWith(func(k *v1beta2.Kyma) {
			k.DeletionTimestamp, k.Finalizers = &metav1.Time{Time: now}, []string{"operator.kyma-project.io/Kyma"}
		}), reason: "Kyma is being deleted", urgent: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, tc.kyma)
			res, err := w.paceKyma(t.Context(), ofCatalog(tc.kyma))
			require.NoError(t, err)
			require.Equal(t, tc.waits, res.RequeueAfter > 0)
			if tc.waits {
				require.Empty(t, kicks.sent)
				w.pacer.now = func() time.Time { return now.Add(time.Hour) }
				_, err := w.paceKyma(t.Context(), ofCatalog(tc.kyma))
				require.NoError(t, err)
			}
			if tc.reason == "" {
				require.Empty(t, kicks.sent)
				return
			}
			require.Len(t, kicks.sent, 1)
			require.Equal(t, tc.reason, kicks.sent[0].kick.Reason)
			require.Equal(t, tc.urgent, kicks.sent[0].kick.Urgent)
			require.Nil(t, kicks.sent[0].kick.NotBefore, "the leader itself has waited for the turn")
		})
	}
}

// A worker waits until its caches have that version.
func TestAPacedKickNamesTheVersionThatCausedIt(t *testing.T) {
	kyma := behindBy(1, nil)[0]
	w, kicks, _ := newWatcher(t, kyma)
	w.Settings.PacingSpan = 0
	_, err := w.paceKyma(t.Context(), ofCatalog(kyma))
	require.NoError(t, err)
	require.Equal(t, []sent{{"kyma/kcp-system/k0/uid-0", kick.Kick{
		Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Namespace: "kcp-system", Name: "t", ResourceVersion: "7",
	}.SeenAt(now)}}, kicks.sent)
}

// Otherwise a catalog that changes again and again would never reach a Kyma.
func TestAFurtherChangeDoesNotPostponeATurn(t *testing.T) {
	at := now
	r := newPacer(1, func() time.Time { return at })
	first := r.wait("uid", "digest", time.Hour)
	for i := range 20 {
		at = at.Add(first / 20)
		require.LessOrEqual(t, r.wait("uid", fmt.Sprint(i), time.Hour), first-at.Sub(now))
	}
}

// Surplus kicks would wait in Temporal's queues, and edits would wait behind them.
func TestPacingKicksNoMoreKymasAtOnceThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kymas := behindBy(4, nil)
		w, kicks := pacedByTwo(t, kymas)

		w.pacer.progressed(tookIn(kymas[0]))
		synctest.Wait()
		require.Equal(t, 3, kicks.count(), "one Kyma applied the change")
		before, _ := tookIn(kymas[1])
		w.pacer.progressed(before, before)
		synctest.Wait()
		require.Equal(t, 3, kicks.count(), "another status change frees no place")

		time.Sleep(placeTimeout)
		synctest.Wait()
		require.Equal(t, 4, kicks.count(), "a Kyma that never reports does not block the others forever")
	})
}

// The first Kyma's cluster does not answer, and nothing shows that yet.
func TestAKymaOvertakenByManyLosesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kymas := behindBy(7, nil)
		w, kicks := pacedByTwo(t, kymas)
		done := func(i int) int {
			w.pacer.progressed(tookIn(kymas[i]))
			synctest.Wait()
			return kicks.count()
		}
		require.Equal(t, 3, done(1), "the Kyma's own place is free")
		require.Equal(t, 5, done(2), "and the place of the Kyma that two have overtaken")
		require.Equal(t, 5, done(0), "that Kyma no longer has a place")
		require.Equal(t, 6, done(4))
		require.Equal(t, 7, done(3), "a Kyma that was kicked later is not overtaken")
		require.Equal(t, 7, done(6))
		require.NotEmpty(t, w.pacer.underWay, "a Kyma that only one has overtaken keeps its place")
	})
}

func TestAnEditIsNotPaced(t *testing.T) {
	kymas := behindBy(3, nil)
	edited, ok := kymas[2].(*v1beta2.Kyma)
	require.True(t, ok)
	edited.Generation = 3
	w, kicks, _ := newWatcher(t, kymas...)
	w.Settings.PacingSpan = 0
	_, err := w.paceKyma(t.Context(), ofCatalog(kymas[0]))
	require.NoError(t, err)
	blocked, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.paceKyma(blocked, ofCatalog(kymas[1]))
	require.ErrorIs(t, err, context.Canceled, "there is no second place")
	_, err = w.kickKyma(t.Context(), kymaRequest{Ref: kick.RefOf(edited), Own: true})
	require.NoError(t, err)
	require.Len(t, kicks.sent, 2)
	require.True(t, kicks.sent[1].kick.Urgent)
}

// Their reconciles end with a timeout, and report nothing that would free a place.
func TestUnreachableClustersDoNotDelayAPacedChange(t *testing.T) {
	kymas := behindBy(3, func(k *v1beta2.Kyma) { k.Status.Remote = &v1beta2.RemoteStatus{Reachable: new(false)} })
	healthy := behindBy(4, nil)[3]
	w, kicks, _ := newWatcher(t, append(kymas, healthy)...)
	w.Settings.PacingSpan = 0
	for _, kyma := range append(kymas, healthy) {
		_, err := w.paceKyma(t.Context(), ofCatalog(kyma))
		require.NoError(t, err)
	}
	require.Len(t, kicks.sent, 4)
	before, after := tookIn(healthy)
	after.Status.InputsDigest, after.Status.Remote = before.Status.InputsDigest, &v1beta2.RemoteStatus{Reachable: new(false)}
	w.pacer.progressed(before, after)
	require.NoError(t, w.pacer.enter(t.Context(), "another"), "a Kyma that turns out to be unreachable releases its place")
}

// A module release consists of a template and a release meta: two causes, but one reconcile.
func TestAKymaUnderWayIsKickedOnceForTheSameInputs(t *testing.T) {
	kyma := behindBy(1, nil)[0]
	w, kicks, _ := newWatcher(t, kyma)
	w.Settings.PacingSpan = 0
	other := ofCatalog(kyma)
	other.Cause.Kind = "ModuleReleaseMeta"
	for _, req := range []kymaRequest{ofCatalog(kyma), other} {
		_, err := w.paceKyma(t.Context(), req)
		require.NoError(t, err)
	}
	require.Len(t, kicks.sent, 1)
	w.Inputs = inputs("later")
	_, err := w.paceKyma(t.Context(), other)
	require.NoError(t, err)
	require.Len(t, kicks.sent, 2, "changes after that reconcile began need another")
}

// A leader that dies leaves nothing behind. The next leader lists the Kymas and finds by their digests which have not
// applied a change.
func TestTheNextLeaderContinuesAPacedChange(t *testing.T) {
	kyma := behindBy(1, nil)[0]
	w, kicks, _ := newWatcher(t, kyma)
	done := make(chan error)
	go func() {
		_, err := w.kickKyma(t.Context(), kymaRequest{Ref: kick.RefOf(kyma)})
		done <- err
	}()
	passed := <-w.pacer.passed
	require.NoError(t, <-done)
	require.Empty(t, kicks.sent)
	w.Settings.PacingSpan = 0
	_, err := w.paceKyma(t.Context(), passed.Object)
	require.NoError(t, err)
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "inputs changed while no leader was watching", kicks.sent[0].kick.Reason)
	require.False(t, kicks.sent[0].kick.Urgent)
}

func TestAKickThatCannotBeSentKeepsNoPlace(t *testing.T) {
	kyma := behindBy(1, nil)[0]
	w, _, _ := newWatcher(t, kyma)
	w.Kicks = unsent{}
	_, err := w.paceKyma(t.Context(), ofCatalog(kyma))
	require.NoError(t, err)
	w.pacer.now = func() time.Time { return now.Add(time.Hour) }
	_, err = w.paceKyma(t.Context(), ofCatalog(kyma))
	require.Error(t, err)
	require.Negative(t, w.pacer.wait(kyma.GetUID(), "now", time.Hour), "the retry does not wait for a turn again")
	require.NoError(t, w.pacer.enter(t.Context(), "another"))
}

type unsent struct{ Sender }

func (unsent) Kyma(context.Context, kick.Ref, kick.Kick) error { return fmt.Errorf("no Temporal") }
