package watchers

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestTheLeaderExportsOneSeriesPerKymaAndModule(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: "one", Namespace: "kcp-system",
		Labels:      map[string]string{"kyma-project.io/instance-id": "i-1"},
		Annotations: map[string]string{"skr-domain": "c-123.example.com"},
	}}
	kyma.Status.State = "Warning"
	kyma.Status.Modules = []v1beta2.ModuleStatus{{Name: "keda", State: "Ready"}, {Name: "eventing", State: "Warning"}}
	foreign := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: "foreign", Namespace: "kcp-system", Labels: map[string]string{"operator.kyma-project.io/managed-by": "another"},
	}}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(kyma, foreign).Build()

	leads := make(chan struct{})
	metrics := NewStateMetrics(reader, leads, desired.Settings{})
	require.Zero(t, testutil.CollectAndCount(metrics), "who does not lead exports nothing")
	close(leads)
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(`
# HELP lifecycle_mgr_kyma_state The state of a Kyma.
# TYPE lifecycle_mgr_kyma_state gauge
lifecycle_mgr_kyma_state{instance_id="i-1",kyma_name="one",shoot="c-123",state="Warning"} 1
# HELP lifecycle_mgr_module_state The state of a module of a Kyma.
# TYPE lifecycle_mgr_module_state gauge
lifecycle_mgr_module_state{instance_id="i-1",kyma_name="one",module_name="eventing",shoot="c-123",state="Warning"} 1
lifecycle_mgr_module_state{instance_id="i-1",kyma_name="one",module_name="keda",shoot="c-123",state="Ready"} 1
`)))
}
