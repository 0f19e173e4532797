package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestAModuleTooLargeForItsManifestIsRefusedBeforeAnythingIsApplied(t *testing.T) {
	const etcd = 1536 << 10
	for name, test := range map[string]struct {
		objects  int
		id       string
		resource int
		refused  string
	}{
		"thousands of objects":                  {objects: 5000, id: "apps_Deployment_namespace_object-%06d"},
		"more than an inventory can hold":       {objects: 9000, id: "apps_Deployment_namespace_object-%06d", refused: "the inventory of 9000 objects is larger than 1048576 bytes"},
		"a large default custom resource":       {objects: 100, id: "apps_Deployment_namespace_object-%06d", resource: 256 << 10},
		"both":                                  {objects: 7200, id: "apps_Deployment_namespace_object-%06d", resource: 256 << 10, refused: "with its inventory of 7200 objects and its default custom resource"},
		"as many kinds as objects":              {objects: 5800, id: "example.com_Kind" + strings.Repeat("d", 40) + "%06d__o", refused: "with its inventory of 5800 objects"},
		"a custom resource from before a limit": {objects: 1, id: "apps_Deployment_a_%06d", resource: 1536 << 10, refused: "with its inventory of 1 objects"},
	} {
		m := &v1beta2.Manifest{}
		if test.resource > 0 {
			m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"spec":"` + strings.Repeat("x", test.resource) + `"}`)}
		}
		var entries []v1beta2.InventoryEntry
		for i := range test.objects {
			entries = append(entries, v1beta2.InventoryEntry{ID: fmt.Sprintf(test.id, i), Version: "v1"})
		}
		err := tooMany(m, entries)
		if test.refused != "" {
			require.ErrorContains(t, err, test.refused, name)
			require.Equal(t, ReasonTooManyObjects, fault.Of(err).Reason, name)
			require.Equal(t, fault.Rejected, fault.Of(err).Kind, name)
			continue
		}
		require.NoError(t, err, name)
		for i := range entries {
			entries[i].UID, entries[i].Hash = strings.Repeat("u", 36), strings.Repeat("h", 16)
		}
		inventory.SetInventory(&m.Status, entries)
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		require.Less(t, len(encoded), etcd-64<<10, name)
	}
}
