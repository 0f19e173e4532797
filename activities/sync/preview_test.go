package sync

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestThePreviewOfASynchronizationHasTheModulesOfTheRemoteKyma(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	settings := desired.Settings{Mode: desired.ModeControlPlane}
	kyma := desiredtest.Kyma("keda")
	there := &v1beta2.Kyma{}
	there.Namespace, there.Name, there.UID = "kyma-system", "default", "uid"
	there.Spec.Modules = []v1beta2.Module{{Name: "serverless", Channel: "fast"}}
	wanted := func(kyma *v1beta2.Kyma) desired.Wanted { return desired.WantedBy(kyma, desired.SyncOf(kyma, settings)) }
	require.False(t, wanted(kyma).Complete)

	created, err := Preview(t.Context(), kyma, settings, fake.NewClientBuilder().WithScheme(scheme).Build())
	require.NoError(t, err)
	require.True(t, wanted(created).Complete)
	require.Equal(t, kyma.Spec.Modules, wanted(created).Modules, "the remote Kyma will be created with these modules")

	synchronized, err := Preview(t.Context(), kyma, settings, fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build())
	require.NoError(t, err)
	require.Equal(t, there.Spec.Modules, wanted(synchronized).Modules)
	require.Nil(t, kyma.Status.Remote, "the Kyma stays unchanged")

	again, err := Preview(t.Context(), synchronized, settings, nil)
	require.NoError(t, err)
	require.Same(t, synchronized, again, "the last accepted state is on record")

	there.Spec.Channel = "none"
	_, err = Preview(t.Context(), kyma, settings, fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build())
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Equal(t, ReasonRemoteKymaInvalid, fault.Of(err).Reason)
}
