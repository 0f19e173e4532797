package preflight

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAMissingNamespaceIsFoundWithoutTheRightToReadIt(t *testing.T) {
	configMaps := apischema.GroupResource{Resource: "configmaps"}
	record := types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager-settings"}
	for name, test := range map[string]struct {
		answer error
		record types.NamespacedName
		says   string
	}{
		"it is missing":                            {apierrors.NewNotFound(apischema.GroupResource{Resource: "namespaces"}, "kcp-system"), record, "the namespace kcp-system for the settings of this instance is missing"},
		"it is there":                              {nil, record, ""},
		"the record is there":                      {apierrors.NewAlreadyExists(configMaps, record.Name), record, ""},
		"the right to create it is missing":        {apierrors.NewForbidden(configMaps, record.Name, nil), record, ""},
		"a process that only reads does not check": {apierrors.NewNotFound(configMaps, record.Name), types.NamespacedName{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			created := 0
			controlPlane := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
					created++
					require.Equal(t, []client.CreateOption{client.DryRunAll}, options, "nothing is created")
					require.IsType(t, &corev1.ConfigMap{}, object)
					return test.answer
				},
			})
			found := missingNamespace(t.Context(), controlPlane, test.record)
			if test.says == "" {
				require.Nil(t, found)
				return
			}
			require.Equal(t, 1, created)
			require.Contains(t, found.Message, test.says)
			require.Equal(t, "kubectl create namespace kcp-system", found.Remedy)
		})
	}
}
