package e2e

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// fleetSize is how many Kymas there are in the test of what a change of the catalog may remove.
const fleetSize = 50

// However the catalog is damaged, no module is uninstalled from many Kymas, in three clusters, before somebody approved it.
func TestNoChangeOfTheCatalogRemovesAModuleFromAFleet(t *testing.T) {
	s := newStage(t)
	announced := s.pack(tiny{name: "common", channels: "regular"})
	s.apply(s.controlPlane, controlPlaneNamespace, announced)
	s.instance.start()
	for i := range fleetSize {
		s.at(i % len(s.remotes)).create(newSynced(fmt.Sprintf("many-%02d", i), "common"))
	}
	// Kymas go first: one that is there makes its namespace anew.
	t.Cleanup(s.deleteFleetNamespaces)
	t.Cleanup(s.deleteEverything)
	s.fleetShows(t, shared.StateReady, "")
	installed := s.fleetManifests(t)
	require.Len(t, installed, fleetSize)

	t.Run("every template and release meta is deleted: what is installed stays and says why", func(t *testing.T) {
		for _, obj := range []client.Object{&v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
			require.NoError(t, s.controlPlane.DeleteAllOf(t.Context(), obj, client.InNamespace(controlPlaneNamespace)))
		}
		s.fleetShows(t, shared.StateError, "no ModuleReleaseMeta found")
		s.sweeps(t, 2)
		require.Equal(t, installed, s.fleetManifests(t), "no Manifest is deleted, or another one")
		s.fleetHas(t, fleetSize)
	})
	t.Run("the catalog is back: everything goes on as if nothing had been", func(t *testing.T) {
		s.apply(s.controlPlane, controlPlaneNamespace, announced)
		s.fleetShows(t, shared.StateReady, "")
		require.Equal(t, installed, s.fleetManifests(t))
	})
	meta := &v1beta2.ModuleReleaseMeta{}
	held := ""
	t.Run("the module is marked beta: its removal is held, and the Kymas are as they were", func(t *testing.T) {
		meta.Namespace, meta.Name = controlPlaneNamespace, "common"
		editObject(t, s.controlPlane, meta, func() { meta.Spec.Beta = true })
		marked := meta.ResourceVersion
		s.eventually("it is said that removals are held", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
			held = meta.Annotations["operator.kyma-project.io/held-removal"]
			assert.Equal(c, marked, held, "the change that causes them")
			assert.Contains(c, s.warnings(meta)["RemovalHeld"], fmt.Sprintf("%d Kymas would lose a module by this change, which is more than %d: "+
				"nothing is removed until the annotation operator.kyma-project.io/approve-removal has the value %s", fleetSize, fleetSize*5/100, marked))
		})
		s.sweeps(t, 1)
		s.fleetShows(t, shared.StateReady, "")
		require.Equal(t, installed, s.fleetManifests(t))
	})
	t.Run("it is approved: the removal begins, at a limited rate", func(t *testing.T) {
		editObject(t, s.controlPlane, meta, func() {
			metav1.SetMetaDataAnnotation(&meta.ObjectMeta, "operator.kyma-project.io/approve-removal", held)
		})
		s.eventually("some Kymas lose the module", 2*time.Minute, func(c *assert.CollectT) {
			assert.Less(c, len(s.fleetManifests(t)), fleetSize-5)
		})
		require.NotEmpty(t, s.fleetManifests(t), "not all at once")
	})
}

// fleetShows waits until every Kyma shows its one module so.
func (s *stage) fleetShows(t *testing.T, state shared.State, message string) {
	t.Helper()
	s.eventually(fmt.Sprintf("every Kyma shows %s %q", state, message), 5*time.Minute, func(c *assert.CollectT) {
		var kymas v1beta2.KymaList
		require.NoError(c, s.controlPlane.List(t.Context(), &kymas, client.InNamespace(controlPlaneNamespace)))
		require.Len(c, kymas.Items, fleetSize)
		others := map[string]int{}
		for _, kyma := range kymas.Items {
			module := byName(kyma.Status.Modules)["common"]
			if module.State != state || module.Message != message || module.Manifest == nil || kyma.Status.State != state {
				others[fmt.Sprintf("Kyma %s, module %s: %s", kyma.Status.State, module.State, module.Message)]++
			}
		}
		assert.Empty(c, others)
	})
}

// fleetManifests are the uids of all Manifests that are not being deleted, by name.
func (s *stage) fleetManifests(t *testing.T) map[string]types.UID {
	t.Helper()
	var manifests v1beta2.ManifestList
	require.NoError(t, s.controlPlane.List(t.Context(), &manifests, client.InNamespace(controlPlaneNamespace)))
	uids := map[string]types.UID{}
	for _, manifest := range manifests.Items {
		if manifest.DeletionTimestamp.IsZero() {
			uids[manifest.Name] = manifest.UID
		}
	}
	return uids
}

// fleetHas makes sure that the module is in so many remote namespaces.
func (s *stage) fleetHas(t *testing.T, want int) {
	t.Helper()
	has := 0
	for _, remote := range s.remotes {
		has += len(s.tinies(t, remote, "common"))
	}
	require.Equal(t, want, has)
}

// sweeps has every shard walked so many times, one walk after the other, and waits until they have ended.
func (s *stage) sweeps(t *testing.T, walks int) {
	t.Helper()
	for range walks {
		from := time.Now()
		for shard := range sweep.DefaultShards {
			s.sweepNow(shard)
		}
		for shard := range sweep.DefaultShards {
			// Most shards are through by the time that the first is.
			for began := time.Now(); s.walks(t, shard, from) == 0; time.Sleep(100 * time.Millisecond) {
				require.Less(t, time.Since(began), 2*time.Minute, "shard %d is not walked", shard)
			}
		}
	}
}

// sweepNow has a shard walked at once, or as soon as the walk ends that is under way.
func (s *stage) sweepNow(shard int) {
	s.t.Helper()
	err := s.temporal.SignalWorkflow(ctx(s.t), kick.SweepWorkflowID(shard), "", kick.Signal, kick.Kick{Reason: "a test"})
	if notFound := new(serviceerror.NotFound); errors.As(err, &notFound) {
		return // it has yet to be started, which begins with a walk
	}
	require.NoError(s.t, err)
}

// editRemote edits the remote Kyma as its owner does, and does not wait for the sweep to find out by itself.
func (s *stage) editRemote(change func(*v1beta2.Kyma)) {
	s.t.Helper()
	edit(s.t, s.remote, s.remoteKyma(), change)
	shards, err := s.shards(ctx(s.t))
	require.NoError(s.t, err)
	for shard := range shards {
		s.sweepNow(shard)
	}
}

// walks counts the walks of a shard that began after a time and have ended.
func (s *stage) walks(t *testing.T, shard int, from time.Time) int {
	t.Helper()
	walks, begun := 0, map[int64]bool{}
	events := s.temporal.GetWorkflowHistory(t.Context(), kick.SweepWorkflowID(shard), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if notFound := new(serviceerror.NotFound); errors.As(err, &notFound) {
			return 0 // the sweep of this shard has yet to be started
		}
		require.NoError(t, err)
		if event.GetActivityTaskScheduledEventAttributes() != nil && event.GetEventTime().AsTime().After(from) {
			begun[event.GetEventId()] = true
		}
		if ended := event.GetActivityTaskCompletedEventAttributes(); ended != nil && begun[ended.GetScheduledEventId()] {
			walks++
		}
	}
	return walks
}

// deleteFleetNamespaces leaves a remote cluster that is no slower for the next test.
func (s *stage) deleteFleetNamespaces() {
	var all sync.WaitGroup
	defer all.Wait()
	for at, remote := range s.remotes {
		var names []string
		for i := at; i < fleetSize; i += len(s.remotes) {
			names = append(names, fmt.Sprintf("many-%02d", i))
		}
		all.Go(func() { s.removeNamespaces(remote, names...) })
	}
}
