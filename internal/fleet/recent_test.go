package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func kymaAt(version string) *v1beta2.Kyma {
	k := kyma()
	k.ResourceVersion = version
	return k
}

func TestTheNextStepTakesTheKymaOfThePreviousStep(t *testing.T) {
	named := func(versions ...string) []desired.Seen {
		var all []desired.Seen
		for _, version := range versions {
			all = append(all, desired.Seen{Kind: shared.KindKyma, Name: "demo", ResourceVersion: version})
		}
		return all
	}
	for name, c := range map[string]struct {
		known string
		seen  []desired.Seen
		after time.Duration
		taken bool
	}{
		"named":                          {known: "5", seen: named("7"), taken: true},
		"named beside an older one":      {known: "7", seen: named("5", "7"), taken: true},
		"not named":                      {known: "5"},
		"another process left a version": {known: "5", seen: named("8")},
		"a kick names a newer one":       {known: "5", seen: named("7", "9")},
		"the informer knows a newer one": {known: "8", seen: named("7")},
		"it is old":                      {known: "5", seen: named("7"), after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, kymaAt(c.known))
				w.Keep(kymaAt("7"))
				time.Sleep(c.after)
				require.Equal(t, c.taken, w.TakeKyma(t.Context(), kick.RefOf(kyma()), c.seen) != nil)
				require.Nil(t, w.TakeKyma(t.Context(), kick.RefOf(kyma()), c.seen), "a repeated step reads live")
			})
		})
	}
}

func TestAManifestIsTakenOnceAndOnlyRightAfterItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := manifest("keda", "demo-uid")
		known.UID, known.ResourceVersion = "keda-uid", "5"
		w := newFixture(t, known)
		written := known.DeepCopy()
		written.ResourceVersion = "7"
		written.Status.Inventory = []v1beta2.InventoryEntry{{ID: "whole"}}
		ref := kick.RefOf(written)

		w.Keep(written)
		taken, at := w.TakeManifest(t.Context(), ref)
		require.Equal(t, written, taken)
		require.Equal(t, time.Now(), at)
		taken, _ = w.TakeManifest(t.Context(), ref)
		require.Nil(t, taken)

		w.Keep(written)
		time.Sleep(2 * time.Second)
		taken, _ = w.TakeManifest(t.Context(), ref)
		require.Nil(t, taken)

		written.ResourceVersion = "4"
		w.Keep(written)
		taken, _ = w.TakeManifest(t.Context(), ref)
		require.Nil(t, taken, "the informer knows a newer version")
	})
}

func TestIsNewestIfTheInformerKnowsNoNewerManifest(t *testing.T) {
	known := manifest("keda", "demo-uid")
	known.UID, known.ResourceVersion = "keda-uid", "7"
	w := newFixture(t, known)
	at := func(change func(*v1beta2.Manifest)) *v1beta2.Manifest {
		m := known.DeepCopy()
		change(m)
		return m
	}
	require.True(t, w.IsNewest(t.Context(), known))
	require.True(t, w.IsNewest(t.Context(), at(func(m *v1beta2.Manifest) { m.ResourceVersion = "9" })), "the informer lags behind")
	require.False(t, w.IsNewest(t.Context(), at(func(m *v1beta2.Manifest) { m.ResourceVersion = "5" })))
	require.False(t, w.IsNewest(t.Context(), at(func(m *v1beta2.Manifest) { m.UID = "another" })))
	require.False(t, w.IsNewest(t.Context(), at(func(m *v1beta2.Manifest) { m.Name = "gone" })))
}
