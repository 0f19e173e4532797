package readiness

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestAKymaIsNoDefaultCustomResource(t *testing.T) {
	t.Parallel()
	_, err := DefaultCROf(&v1beta2.Manifest{Spec: v1beta2.ManifestSpec{Resource: &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"operator.kyma-project.io/v1beta2","kind":"Kyma","metadata":{"name":"default"}}`),
	}}})
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.ErrorContains(t, err, "belong to Lifecycle Manager")
}
