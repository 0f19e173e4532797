package sweep

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// mixedFleet returns n Kymas of one shard, held in informers. gone selects those with clusters marked unreachable.
func mixedFleet(t *testing.T, n int, gone func(i int) bool) *Activities {
	t.Helper()
	unreachable := false
	f, kymas := fleetOf(n, func(i int, kyma *v1beta2.Kyma) {
		if gone(i) {
			kyma.Status.Remote.Reachable = &unreachable
		}
	})
	a, held := activitiesFor(t, f), fleettest.NewCache(t, desiredtest.Scheme(), kymas...)
	held.Hold(t, &v1beta2.Kyma{}, &v1beta2.Manifest{})
	a.options.Fleet = held.Run(t)
	return a
}

// remotes fakes clusters. Those marked unreachable never answer; the others answer after a while.
type remotes struct {
	answersAfter time.Duration
	// releaseAfter, if not 0, is the number of other checks after which the unreachable clusters answer.
	releaseAfter int
	released     chan struct{}

	mu sync.Mutex
	// begun counts the checks of each cluster, ended those that were not interrupted.
	begun, ended map[types.UID]int
	answered     int
	// early counts probes of unreachable clusters that ended before all other clusters were checked.
	early, now, most int
}

func newRemotes() *remotes {
	return &remotes{begun: map[types.UID]int{}, ended: map[types.UID]int{}, released: make(chan struct{})}
}

func (r *remotes) Probe(ctx context.Context, kyma *v1beta2.Kyma, _ bool) (bool, string, error) {
	unreachable := kyma.IsMarkedUnreachable()
	r.begin(kyma.UID, unreachable)
	if unreachable {
		select {
		case <-ctx.Done():
		case <-r.released:
		}
	} else {
		select {
		case <-ctx.Done():
		case <-time.After(r.answersAfter):
		}
	}
	r.end(ctx, kyma.UID, unreachable)
	return false, "", errors.Join(ctx.Err(), errors.New("no answer"))
}

func (r *remotes) begin(uid types.UID, unreachable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[uid]++
	if unreachable {
		r.now++
		r.most = max(r.most, r.now)
	}
}

func (r *remotes) end(ctx context.Context, uid types.UID, unreachable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(ctx.Err(), context.Canceled) {
		r.ended[uid]++
	}
	if !unreachable {
		r.answered++
		if r.answered == r.releaseAfter {
			close(r.released)
		}
		return
	}
	r.now--
	if r.answered < r.releaseAfter {
		r.early++
	}
}

func (r *remotes) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, times := range r.begun {
		all += times
	}
	return all
}

// Each black hole hangs until all healthy clusters have been checked. If a healthy cluster waited for a black hole, a
// probe would have to end earlier.
func TestFiveHundredBlackHolesDoNotDelayHealthyClustersOfTheirShard(t *testing.T) {
	const all, healthy = 520, 20
	a := mixedFleet(t, all, func(i int) bool { return i%(all/healthy) != 0 })
	synctest.Test(t, func(t *testing.T) {
		clusters := newRemotes()
		clusters.releaseAfter = healthy
		a.options.Remote, a.options.Interval = clusters, time.Nanosecond
		walked(t, a)
		require.Zero(t, clusters.early, "no healthy cluster had to wait for a probe's timeout")
		require.Equal(t, healthy, clusters.answered)
		require.Len(t, clusters.ended, all)
		require.Equal(t, all, clusters.total(), "each cluster was checked once")
		require.LessOrEqual(t, clusters.most, kymasAtOnce)
	})
}

// Black holes that do not fit into an interval delay only themselves.
func TestUnreachableClustersBeyondAnIntervalAreProbedInTheNextWalk(t *testing.T) {
	const all, healthy = 105, 5
	a := mixedFleet(t, all, func(i int) bool { return i%(all/healthy) != 0 })
	synctest.Test(t, func(t *testing.T) {
		clusters := newRemotes()
		a.options.Remote, a.options.Interval = clusters, 24*time.Second
		from := uint64(0)
		for range 2 {
			w := &walk{Activities: a, shard: 7, at: cursor{Started: a.options.Now(), ProbeFrom: from}}
			require.NoError(t, w.run(t.Context(), nil, func(cursor) {}))
			res := a.result(w.cursor())
			require.Less(t, res.Kymas, all, "a walk ends with its interval")
			from = res.ProbeFrom
		}
		require.Len(t, clusters.ended, all)
		for uid, times := range clusters.ended {
			require.LessOrEqual(t, times, 2, uid)
		}
		require.Equal(t, 2*healthy, clusters.answered, "healthy clusters are checked in every walk")
	})
}

func TestNoKymaIsSkippedWhenAWalkIsHandedOverOrItsWorkerDies(t *testing.T) {
	const all = 40
	// The next attempt knows the last heartbeat if the worker was stopped, and an earlier one if it died.
	for name, known := range map[string]func(heartbeats []cursor) cursor{
		"handed over": func(heartbeats []cursor) cursor { return heartbeats[len(heartbeats)-1] },
		"died":        func(heartbeats []cursor) cursor { return heartbeats[max(len(heartbeats)-3, 0)] },
	} {
		for _, after := range []time.Duration{time.Second, 13 * time.Second, 37 * time.Second, 61 * time.Second, 89 * time.Second} {
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				a := mixedFleet(t, all, func(i int) bool { return i%4 == 0 })
				synctest.Test(t, func(t *testing.T) {
					clusters := newRemotes()
					clusters.answersAfter = 7 * time.Second
					a.options.Remote, a.options.Interval = clusters, 100*time.Second
					// The ring of clusters marked unreachable begins in its middle.
					first := &walk{Activities: a, shard: 7, at: cursor{Started: a.options.Now(), Shards: DefaultShards, ProbeFrom: 1 << 63}}
					stop, heartbeats := make(chan struct{}), []cursor{}
					time.AfterFunc(after, func() { close(stop) })
					require.ErrorIs(t, first.run(t.Context(), stop, func(c cursor) { heartbeats = append(heartbeats, c) }), errHandedOver)

					second := &walk{Activities: a, shard: 7, at: known(heartbeats)}
					require.NoError(t, second.run(t.Context(), nil, func(cursor) {}))
					require.Len(t, clusters.ended, all, "each check was completed")
					require.Equal(t, all, second.cursor().Kymas)
					if name == "handed over" {
						require.LessOrEqual(t, clusters.total(), all+2*kymasAtOnce, "only interrupted checks are repeated")
					}
				})
			})
		}
	}
}

func TestAKymaMarkedUnreachableDuringAWalkDoesNotDelayOthers(t *testing.T) {
	f, kymas := fleetOf(2, nil)
	held := fleettest.NewCache(t, desiredtest.Scheme(), kymas...)
	held.Hold(t, &v1beta2.Kyma{}, &v1beta2.Manifest{})
	a := activitiesFor(t, f)
	a.options.Fleet = held.Run(t)
	w := &walk{Activities: a, shard: 7}
	places, err := w.places(t.Context())
	require.NoError(t, err)
	answering := w.newQueue(kymaDeadline, false, places)

	kyma, err := w.read(t.Context(), places[0])
	require.NoError(t, err)
	require.True(t, answering.has(kyma))
	marked, gone := kyma.DeepCopy(), false
	marked.Status.Remote.Reachable = &gone
	held.Set(marked)
	require.Eventually(t, func() bool {
		kyma, err = w.read(t.Context(), places[0])
		return err == nil && !answering.has(kyma)
	}, 10*time.Second, time.Millisecond, "the Kyma is read at its turn")

	anew := marked.DeepCopy()
	anew.UID = "another"
	held.Unset(marked)
	held.Set(anew)
	require.Eventually(t, func() bool {
		kyma, err = w.read(t.Context(), places[0])
		return err == nil && kyma == nil
	}, 10*time.Second, time.Millisecond, "another Kyma with the same name does not count")
}

func TestEveryKymaIsInExactlyOneShard(t *testing.T) {
	objects := make([]client.Object, 0, 500)
	for i := range 500 {
		kyma := quietKyma()
		kyma.Status.Modules = nil // there are no Manifests
		kyma.Name, kyma.UID = "kyma-"+strconv.Itoa(i), types.UID(strconv.Itoa(i)+"-uid")
		objects = append(objects, kyma)
	}
	held := fleettest.NewCache(t, desiredtest.Scheme(), objects...)
	held.Hold(t, &v1beta2.Kyma{})
	held.Run(t)
	for _, shards := range []int{1, 3, 8, 13, 64} {
		seen := map[types.UID]bool{}
		for shard := range shards {
			w := &walk{Activities: &Activities{options: Options{Shards: shards, Fleet: held}}, shard: shard}
			places, err := w.places(t.Context())
			require.NoError(t, err)
			last := uint64(0)
			for _, at := range places {
				require.Equal(t, shard, ShardOf(at.uid, shards))
				require.False(t, seen[at.uid])
				seen[at.uid] = true
				require.Equal(t, fleet.Position(at.uid), at.position)
				require.GreaterOrEqual(t, at.position, last, "in hash order")
				last = at.position
			}
		}
		require.Len(t, seen, len(objects))
	}
}

// Everything in the informers is shared within the process.
func TestAWalkChangesNothingInTheCache(t *testing.T) {
	a, s, held := idleActivities(t, 40)
	all := func() (kymas v1beta2.KymaList, manifests v1beta2.ManifestList, templates v1beta2.ModuleTemplateList, metas v1beta2.ModuleReleaseMetaList) {
		for _, list := range []client.ObjectList{&kymas, &manifests, &templates, &metas} {
			require.NoError(t, held.List(t.Context(), list, client.UnsafeDisableDeepCopy))
		}
		return kymas, manifests, templates, metas
	}
	kymas, manifests, templates, metas := all()
	gone, changed := false, 0
	for i := range kymas.Items {
		kyma := kymas.Items[i].DeepCopy()
		switch kyma.Generation = 2; i % 4 {
		case 0:
			kyma.Spec.Channel = "fast" // its inputs differ
		case 1:
			kyma.Status.Remote.Reachable = &gone
		case 2:
			kyma.Status.Modules[0].State = "Processing" // its Manifest has another state
		}
		held.Set(kyma)
	}
	for i := range manifests.Items {
		m := manifests.Items[i].DeepCopy()
		m.Generation = 2 // it has not settled for these inputs
		held.Set(m)
	}
	require.Eventually(t, func() bool {
		kymas, manifests, templates, metas = all()
		changed = 0
		for _, kyma := range kymas.Items {
			changed += int(kyma.Generation - 1)
		}
		for _, m := range manifests.Items {
			changed += int(m.Generation - 1)
		}
		return changed == len(kymas.Items)+len(manifests.Items)
	}, 10*time.Second, time.Millisecond)

	kymasBefore, manifestsBefore, templatesBefore, metasBefore := kymas.DeepCopy(), manifests.DeepCopy(), templates.DeepCopy(), metas.DeepCopy()
	pass(t, a)
	require.NotZero(t, s.kicked.Load())
	require.Equal(t, kymasBefore.Items, kymas.Items)
	require.Equal(t, manifestsBefore.Items, manifests.Items)
	require.Equal(t, templatesBefore.Items, templates.Items)
	require.Equal(t, metasBefore.Items, metas.Items)
}
