package v1beta2_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestInventoryEntryRoundTrip(t *testing.T) {
	cases := []struct {
		name   string
		gvk    schema.GroupVersionKind
		object types.NamespacedName
		id     string
	}{
		{
			"a namespaced object",
			schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			types.NamespacedName{Namespace: "kyma-system", Name: "keda"},
			"apps_Deployment_kyma-system_keda",
		},
		{
			"an object of the core group",
			schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			types.NamespacedName{Namespace: "kyma-system", Name: "keda"},
			"_ConfigMap_kyma-system_keda",
		},
		{
			"a cluster-scoped object",
			schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			types.NamespacedName{Name: "kyma-system"},
			"_Namespace__kyma-system",
		},
		{
			"a role with colons in its name",
			schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
			types.NamespacedName{Name: "system:keda:reader"},
			"rbac.authorization.k8s.io_ClusterRole__system:keda:reader",
		},
		{
			"a role with underscores in its name, also at both ends",
			schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
			types.NamespacedName{Name: "__a_b__"},
			"rbac.authorization.k8s.io_ClusterRole____a_b__",
		},
	}
	seen := map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			entry, err := v1beta2.NewInventoryEntry(c.gvk, c.object)
			require.NoError(t, err)
			require.Equal(t, v1beta2.InventoryEntry{ID: c.id, Version: c.gvk.Version}, entry)
			require.Empty(t, seen[entry.ID], "two objects share an id")
			seen[entry.ID] = c.name

			gvk, object, err := entry.Object()
			require.NoError(t, err)
			require.Equal(t, c.gvk, gvk)
			require.Equal(t, c.object, object)
		})
	}
}

// An ambiguous id could make Lifecycle Manager delete an object of someone else.
func TestInventoryEntryRejectsAmbiguousParts(t *testing.T) {
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	keda := types.NamespacedName{Namespace: "kyma-system", Name: "keda"}
	cases := []struct {
		name   string
		gvk    schema.GroupVersionKind
		object types.NamespacedName
	}{
		{"a kind that pretends to name a namespace", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap_kube-system"}, keda},
		{"a group with an underscore", schema.GroupVersionKind{Group: "a_b", Version: "v1", Kind: "C"}, keda},
		{"a namespace with an underscore", deployment, types.NamespacedName{Namespace: "kube_system", Name: "keda"}},
		{"no kind", schema.GroupVersionKind{Group: "apps", Version: "v1"}, keda},
		{"no version", schema.GroupVersionKind{Group: "apps", Kind: "Deployment"}, keda},
		{"no name", deployment, types.NamespacedName{Namespace: "kyma-system"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := v1beta2.NewInventoryEntry(c.gvk, c.object)
			require.ErrorIs(t, err, v1beta2.ErrInventoryID)
		})
	}
}

func TestInvalidInventoryEntryNamesNoObject(t *testing.T) {
	cases := map[string]v1beta2.InventoryEntry{
		"an empty id":              {Version: "v1"},
		"an id of three parts":     {ID: "apps_Deployment_keda", Version: "v1"},
		"an id without a kind":     {ID: "apps__kyma-system_keda", Version: "v1"},
		"an id without a name":     {ID: "apps_Deployment_kyma-system_", Version: "v1"},
		"an entry without version": {ID: "apps_Deployment_kyma-system_keda"},
	}
	for name, entry := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := entry.Object()
			require.ErrorIs(t, err, v1beta2.ErrInventoryID)
		})
	}
}
