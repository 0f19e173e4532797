package storedversions

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// Objects of the older generation are stored in v1beta1. This build's definitions store v1beta2.
func TestObjectsStoredInV1beta1KeepAllFieldsAndTheVersionCanBeDropped(t *testing.T) {
	s := newStand(t)
	before := map[string][]*unstructured.Unstructured{}
	fresh := map[string]*unstructured.Unstructured{}
	for _, ours := range older() {
		s.install(s.definition(ours, v1beta1))
		for _, version := range []string{v1alpha1, v1beta1, v1beta2} { // whichever version a client uses, v1beta1 is stored
			before[ours] = append(before[ours], s.now(s.create(ours, version, "of-"+version), v1beta2))
		}
		s.store(s.definition(ours, v1beta2))
		fresh[ours] = s.create(ours, v1beta1, "fresh")
		require.Equal(t, []string{v1beta1, v1beta2}, s.storedVersions(s.name(ours)))
		err := s.update(without(s.definition(ours, v1beta2), v1alpha1, v1beta1))
		require.True(t, apierrors.IsInvalid(err), "an API server refuses to drop what may be stored: %v", err)
	}

	for _, ours := range older() {
		begun := 0
		result, err := s.migrator(s).Migrate(t.Context(), s.name(ours), func(_ Definition, objects int) { begun = objects })
		require.NoError(t, err)
		require.Equal(t, []string{v1beta1}, result.Before.Older)
		require.Equal(t, 4, result.Objects)
		require.Equal(t, 4, begun)
		require.Equal(t, []string{v1beta2}, s.storedVersions(s.name(ours)))
		for _, object := range before[ours] {
			after := s.now(object, v1beta2)
			s.same(object, after)
			require.NotEqual(t, object.GetResourceVersion(), after.GetResourceVersion(), "%s %s was stored in v1beta1", ours, object.GetName())
		}
		require.Equal(t, fresh[ours], s.now(fresh[ours], v1beta1), "%s: what was stored in v1beta2 was not written", ours)

		result, err = s.migrator(s).Migrate(t.Context(), s.name(ours), func(Definition, int) { t.Error("there is nothing more to do") })
		require.NoError(t, err)
		require.True(t, result.Before.Migrated())
	}

	for _, ours := range older() {
		require.NoError(t, s.update(without(s.definition(ours, v1beta2), v1alpha1, v1beta1)))
		for _, object := range before[ours] {
			there := s.now(object, v1beta2)
			s.same(object, there)
			there.SetAnnotations(map[string]string{"written": "later"})
			require.NoError(t, s.Update(t.Context(), there))
		}
	}
}

// The control experiment for the test above: an object that was skipped would be noticed.
func TestAnObjectOfAVersionThatIsDroppedCanNoLongerBeRead(t *testing.T) {
	s := newStand(t)
	s.install(s.definition(crds.Kymas, v1beta1))
	left := s.create(crds.Kymas, v1beta2, "left")
	s.store(s.definition(crds.Kymas, v1beta2))
	claimed := s.read(s.name(crds.Kymas))
	claimed.Status.StoredVersions = []string{v1beta2}
	require.NoError(t, s.Status().Update(t.Context(), claimed))
	require.NoError(t, s.update(without(s.definition(crds.Kymas, v1beta2), v1alpha1, v1beta1)))
	readable := func() bool { return s.Get(t.Context(), client.ObjectKeyFromObject(left), left.DeepCopy()) == nil }
	require.Eventually(t, func() bool { return !readable() }, time.Minute, 50*time.Millisecond)

	// The unreadable object would keep the definition from being deleted.
	require.NoError(t, s.update(s.definition(crds.Kymas, v1beta2)))
	require.Eventually(t, readable, time.Minute, 50*time.Millisecond)
}

// An interrupted pass does not change the definition, and the next pass completes the migration.
func TestAnInterruptedMigrationIsCompletedByTheNext(t *testing.T) {
	s := newStand(t)
	name := s.name(crds.Manifests)
	s.install(s.definition(crds.Manifests, v1beta1))
	var all []*unstructured.Unstructured
	for _, each := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, s.create(crds.Manifests, v1beta2, each))
	}
	s.store(s.definition(crds.Manifests, v1beta2))
	written := func() int {
		count := 0
		for _, object := range all {
			now := s.now(object, v1beta2)
			s.same(object, now)
			if now.GetResourceVersion() != object.GetResourceVersion() {
				count++
			}
		}
		return count
	}

	ctx, cancel := context.WithCancel(t.Context())
	patched, pages := 0, 0
	cut := interceptor.NewClient(s, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			require.IsType(t, &metav1.PartialObjectMetadataList{}, list, "only metadata is listed")
			pages++
			return c.List(ctx, list, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			patched++
			if patched == 3 {
				defer cancel()
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	_, err := s.migrator(cut).Migrate(ctx, name, nothing)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, pages, "of two objects each")
	require.Equal(t, []string{v1beta1, v1beta2}, s.storedVersions(name))
	require.Equal(t, 3, written())

	_, err = s.migrator(s).Migrate(t.Context(), name, nothing)
	require.NoError(t, err)
	require.Equal(t, []string{v1beta2}, s.storedVersions(name))
	require.Equal(t, len(all), written())
}

// Others work on the objects during the migration.
func TestConcurrentWritesAndDeletionsDoNotStopTheMigration(t *testing.T) {
	s := newStand(t)
	name := s.name(crds.Manifests)
	s.install(s.definition(crds.Manifests, v1beta1))
	for _, each := range []string{"a", "edited", "gone"} {
		s.create(crds.Manifests, v1beta2, each)
	}
	s.store(s.definition(crds.Manifests, v1beta2))
	edited, gone := s.now(s.manifest("edited"), v1beta2), s.manifest("gone")
	busy := s.atFirstPatch(func() {
		edited.SetLabels(map[string]string{"edited": "meanwhile"})
		require.NoError(t, s.Update(t.Context(), edited))
		require.NoError(t, s.Delete(t.Context(), gone))
	})
	result, err := s.migrator(busy).Migrate(t.Context(), name, nothing)
	require.NoError(t, err)
	require.Equal(t, 3, result.Objects)
	require.Equal(t, []string{v1beta2}, s.storedVersions(name))
	require.Equal(t, edited, s.now(edited, v1beta2))
	require.NoError(t, s.update(without(s.definition(crds.Manifests, v1beta2), v1alpha1, v1beta1)))
	s.now(s.manifest("a"), v1beta2)
	s.now(edited, v1beta2)
}

// Somebody applies definitions of an older release, so objects are written in an older version again, and then reverts
// that.
func TestADefinitionChangedDuringTheMigrationKeepsItsStoredVersions(t *testing.T) {
	s := newStand(t)
	name := s.name(crds.Kymas)
	s.install(s.definition(crds.Kymas, v1beta1))
	s.create(crds.Kymas, v1beta2, "a")
	s.store(s.definition(crds.Kymas, v1beta2))
	changed := s.atFirstPatch(func() {
		s.store(s.definition(crds.Kymas, v1beta1))
		s.create(crds.Kymas, v1beta2, "written-in-v1beta1")
		s.store(s.definition(crds.Kymas, v1beta2))
	})
	_, err := s.migrator(changed).Migrate(t.Context(), name, nothing)
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, []string{v1beta1, v1beta2}, s.storedVersions(name))

	_, err = s.migrator(s).Migrate(t.Context(), name, nothing)
	require.NoError(t, err)
	require.NoError(t, s.update(without(s.definition(crds.Kymas, v1beta2), v1alpha1, v1beta1)))
}

func TestOneObjectThatCannotBeRewrittenKeepsTheStoredVersions(t *testing.T) {
	s := newStand(t)
	name := s.name(crds.Manifests)
	s.install(s.definition(crds.Manifests, v1beta1))
	for _, each := range []string{"a", "b", "c"} {
		s.create(crds.Manifests, v1beta2, each)
	}
	s.store(s.definition(crds.Manifests, v1beta2))
	last := s.now(s.manifest("c"), v1beta2)
	refused := errors.New("a webhook refuses it")
	failing := interceptor.NewClient(s, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if object.GetName() == "b" {
				return refused
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	_, err := s.migrator(failing).Migrate(t.Context(), name, nothing)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "rewrite Manifest "+s.namespace+"/b")
	require.Equal(t, []string{v1beta1, v1beta2}, s.storedVersions(name))
	require.NotEqual(t, last.GetResourceVersion(), s.now(last, v1beta2).GetResourceVersion(), "the others were rewritten")
}

func TestAMissingDefinitionIsReported(t *testing.T) {
	s := newStand(t)
	_, err := s.migrator(s).Migrate(t.Context(), s.name(crds.Kymas), nothing)
	require.ErrorIs(t, err, ErrMissing)
}

// manifest returns a Manifest with this name.
func (s *stand) manifest(name string) *unstructured.Unstructured {
	s.Helper()
	return s.object(crds.Manifests, v1beta2, s.namespace, name)
}

// atFirstPatch returns a client that calls do just before the first object is rewritten.
func (s *stand) atFirstPatch(do func()) client.Client {
	first := true
	return interceptor.NewClient(s, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if first {
				first = false
				do()
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
}
