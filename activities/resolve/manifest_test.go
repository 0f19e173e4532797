package resolve

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAnInstalledModuleStaysInItsNamespaceIfTheFlagNamesAnother(t *testing.T) {
	settings := desired.Settings{Mode: desired.ModeSingleCluster, SyncNamespace: "before"}
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	template.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"apiVersion":"a/v1","kind":"B","metadata":{"name":"b"}}`)}
	b := newBench(t, desiredtest.Kyma("keda"), settings, template)
	b.reconcile(t)
	made := b.only(t)
	require.Contains(t, string(made.Spec.Resource.Raw), `"namespace":"before"`)

	settings.SyncNamespace = "after"
	restarted, err := New(Options{Settings: settings, ControlPlane: b.Cluster, Catalog: b.Cluster, Descriptors: registry{}})
	require.NoError(t, err)
	b.Activities = restarted
	require.Empty(t, b.reconcile(t).Updated)
	require.Equal(t, "before", b.only(t).Annotations["operator.kyma-project.io/remote-namespace"])
}

func TestTheAnnotationToRecreateTheDefaultCRIsCopiedAndRemoved(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	const annotation = "operator.kyma-project.io/recreate-default-cr"
	for _, value := range []string{"true", "false"} {
		b.edit(t, func(k *v1beta2.Kyma) { k.Annotations = map[string]string{annotation: value} })
		require.Len(t, b.reconcile(t).Updated, 1)
		require.Equal(t, value == "true", b.only(t).Annotations[annotation] == "true")
	}
}
