package certmanager

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Install installs the definitions of both kinds of Certificates, with a schema that takes everything, and waits until they
// are served. They stay: tests of other packages may use them at the same time. The client must know CustomResourceDefinitions.
func Install(t testing.TB, c client.Client) {
	t.Helper()
	for _, kind := range []schema.GroupVersionKind{CertManager, Gardener} {
		if err := c.Create(t.Context(), definition(kind)); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool {
			certificates := &unstructured.UnstructuredList{}
			certificates.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			return c.List(t.Context(), certificates, client.Limit(1)) == nil
		}, time.Minute, 100*time.Millisecond)
	}
}

func definition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: "certificates", Singular: "certificate"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
