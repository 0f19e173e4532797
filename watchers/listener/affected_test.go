package listener

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// modules returns the Manifests of a Kyma's modules, as the informers have them.
func modules(t *testing.T, kyma string) []*v1beta2.Manifest {
	t.Helper()
	all := []*v1beta2.Manifest{
		manifest(kyma+"-recorded", kyma, func(m *v1beta2.Manifest) {
			m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: "a.io/v1alpha1", Kind: "Sample", Namespace: "kyma-system", Name: "sample"}
			m.Status.Inventory = []v1beta2.InventoryEntry{{ID: "apps_Deployment_kyma-system_operator", Version: "v1"}, {ID: "_ConfigMap_kyma-system_shared", Version: "v1"}}
		}),
		manifest(kyma+"-specified", kyma, func(m *v1beta2.Manifest) {
			m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"b.io/v1","kind":"Other","metadata":{"name":"other"}}`)}
			m.Status.Inventory = []v1beta2.InventoryEntry{{ID: "_ConfigMap_kyma-system_shared", Version: "v1"}}
		}),
		manifest(kyma+"-in-control-plane", kyma, func(m *v1beta2.Manifest) {
			m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
			m.Status.Inventory = []v1beta2.InventoryEntry{{ID: "apps_Deployment_kyma-system_operator", Version: "v1"}}
		}),
	}
	for _, m := range all {
		_, err := fleet.Strip(m)
		require.NoError(t, err)
	}
	return all
}

func TestAnEventOnlyKicksWhatItConcernsInItsOwnKyma(t *testing.T) {
	for name, tc := range map[string]struct {
		event  string
		woken  []string
		reason string
	}{
		"the Kyma":                  {kymaEdit, []string{"kyma/kcp-system/one/one-uid"}, ReasonKyma},
		"a Kyma of another name":    {eventOf("operator.kyma-project.io", "Kyma", "x", "two"), []string{"kyma/kcp-system/one/one-uid"}, ReasonKyma},
		"a default custom resource": {eventOf("a.io", "Sample", "kyma-system", "sample"), []string{"manifest/kcp-system/one-recorded/one-recorded-uid"}, ReasonModule},
		"a default custom resource that is not recorded yet": {eventOf("b.io", "Other", "", "other"), []string{"manifest/kcp-system/one-specified/one-specified-uid"}, ReasonModule},
		"a resource of that kind that a user created":        {eventOf("a.io", "Sample", "users", "mine"), []string{"manifest/kcp-system/one-recorded/one-recorded-uid"}, ReasonModule},
		"an object of a module":                              {eventOf("apps", "Deployment", "kyma-system", "operator"), []string{"manifest/kcp-system/one-recorded/one-recorded-uid"}, ReasonModule},
		"an object of two":                                   {eventOf("", "ConfigMap", "kyma-system", "shared"), []string{"manifest/kcp-system/one-recorded/one-recorded-uid", "manifest/kcp-system/one-specified/one-specified-uid"}, ReasonModule},
		"an object of no module":                             {eventOf("", "ConfigMap", "kyma-system", "unknown"), []string{"kyma/kcp-system/one/one-uid"}, ReasonOther},
		"another's kind of the same name":                    {eventOf("c.io", "Sample", "kyma-system", "sample"), []string{"kyma/kcp-system/one/one-uid"}, ReasonOther},
		"a Manifest of another Kyma":                         {eventOf("operator.kyma-project.io", "Manifest", "kcp-system", "two-recorded"), []string{"kyma/kcp-system/one/one-uid"}, ReasonOther},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := modules(t, "one"), modules(t, "two")
			f := start(t, nil, kyma("one", "runtime-1"), kyma("two", "runtime-2"), one[0], one[1], one[2], two[0], two[1], two[2])
			response, _ := post(t, f.agent("runtime-1"), f.url(), strings.NewReader(tc.event))
			require.Equal(t, http.StatusOK, response.StatusCode)
			woken := f.kicked(len(tc.woken))
			for _, each := range tc.woken {
				k := woken[each]
				require.Equal(t, tc.reason, k.Reason, each)
				require.True(t, k.Urgent)
				require.NotNil(t, k.Since)
				require.NotContains(t, k.Name, "mine")
			}
			require.Equal(t, 1, f.counted(resultAccepted))
		})
	}
}

// The first Kyma is the copy in a cluster that is also a control plane. The second belongs to another instance.
func TestTheRuntimeIDLabelIdentifiesTheKyma(t *testing.T) {
	copied, others, without := kyma("copied", "runtime-1"), kyma("others", "runtime-1"), kyma("without", "")
	copied.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/one"}
	others.Labels[shared.LabelManagedBy] = "another"
	f := start(t, nil, copied, others, without, kyma("one", "runtime-1"), kyma("two", "runtime-2"), kyma("again", "runtime-2"))
	response, _ := post(t, f.agent("runtime-1"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, f.kicked(1), "kyma/kcp-system/one/one-uid")

	response, _ = post(t, f.agent("runtime-2"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Equal(t, 1, f.counted(resultAmbiguous))
	require.Contains(t, f.lines(), "several Kymas have this runtime id")

	response, _ = post(t, f.agent("runtime-of-a-kyma-that-is-gone"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Equal(t, 1, f.counted(resultUnknown))
	require.Len(t, f.kicks.all(), 1)
}
