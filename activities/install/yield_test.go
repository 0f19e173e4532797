package install

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
)

func TestTheOwnerOfAnObjectOfTwoModules(t *testing.T) {
	const id = "_ConfigMap_a_b"
	at := func(name string, age time.Duration, entries ...v1beta2.InventoryEntry) *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(10_000, 0).Add(-age))}}
		m.Status.Inventory = entries
		return m
	}
	recorded, applied := v1beta2.InventoryEntry{ID: id, Version: "v1"}, v1beta2.InventoryEntry{ID: id, Version: "v1", UID: "1"}
	obsolete := v1beta2.InventoryEntry{ID: id, Version: "v1", UID: "1", Leaving: true}
	require.Empty(t, ownershipOf([]*v1beta2.Manifest{at("a", 0, obsolete)}), "an object that its module is giving up has no owner")
	older, younger := at("b", time.Hour, recorded), at("a", time.Minute, recorded)
	require.Equal(t, "b", ownershipOf([]*v1beta2.Manifest{younger, older})[id].by.Name, "the older one owns it")
	require.Equal(t, "a", ownershipOf([]*v1beta2.Manifest{older, at("a", 0, applied)})[id].by.Name, "unless the other has applied it")
	require.True(t, precedes(older, younger))
	require.True(t, precedes(at("a", 0), at("b", 0)), "for the same age, the name decides")
}

func TestDivideLeavesPlannedObjectsToTheirOwners(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	place := func(gvk schema.GroupVersionKind) bundle.Placed {
		name := types.NamespacedName{Name: "shared"}
		entry, err := v1beta2.NewInventoryEntry(gvk, name)
		require.NoError(t, err)
		return bundle.Placed{Object: &bundle.Object{GVK: gvk}, Name: name, Entry: entry}
	}
	p := place(configMap)
	recorded, applied := p.Entry, p.Entry
	applied.UID = "1"
	obsolete := applied
	obsolete.Leaving = true
	manifest := func(age time.Duration, has ...v1beta2.InventoryEntry) *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
			Name: "m-" + age.String(), CreationTimestamp: metav1.NewTime(time.Unix(10_000, 0).Add(-age)),
			Labels: map[string]string{shared.LabelModuleName: "other"},
		}}
		m.Spec.Version, m.Status.Inventory = "1.0.0", has
		return m
	}
	deleting := manifest(time.Hour, applied)
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(10_000, 0)}
	decide := func(m *v1beta2.Manifest, others ...*v1beta2.Manifest) division {
		return divide(m, []bundle.Placed{p}, others)
	}

	for name, d := range map[string]division{
		"no other module has the object":          decide(manifest(0, recorded)),
		"another module is giving it up":          decide(manifest(0, recorded), manifest(time.Hour, obsolete)),
		"we have applied it before":               decide(manifest(0, applied), manifest(time.Hour, applied)),
		"a namespace, which modules share":        divide(manifest(0), []bundle.Placed{place(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})}, []*v1beta2.Manifest{manifest(time.Hour, applied)}),
		"the other module has a different object": divide(manifest(0), []bundle.Placed{place(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})}, []*v1beta2.Manifest{manifest(time.Hour, applied)}),
	} {
		require.Empty(t, d.withheld, name)
		require.Empty(t, d.refused, name)
	}
	for name, tc := range map[string]struct {
		d                  division
		message            string
		retryable, yielded bool
	}{
		"another has applied it": {
			decide(manifest(time.Hour, recorded), manifest(0, applied)), "belongs to module other", false, true,
		},
		"an older one has recorded it too": {
			decide(manifest(0, recorded), manifest(time.Hour, recorded)), "belongs to module other", false, true,
		},
		"a younger one has recorded it too, and may have applied it already": {
			decide(manifest(time.Hour, recorded), manifest(0, recorded)), "is also in module other", true, false,
		},
		"the module that has it is being removed": {
			decide(manifest(0, recorded), deleting), "belongs to module other, which is being removed", true, true,
		},
	} {
		require.Equal(t, map[string]bool{p.Entry.ID: true}, tc.d.withheld, name)
		require.Equal(t, []bundle.Failure{{Object: "ConfigMap shared", Message: tc.message, Retryable: tc.retryable}}, tc.d.refused, name)
		require.Equal(t, tc.yielded, tc.d.yielded[p.Entry.ID], name)
	}
}
