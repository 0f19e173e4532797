package certmanager

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/definitions"
)

// Install installs the definitions of both kinds of Certificates and of cert-manager's Issuers, and waits until they are served.
// Those of cert-manager are its own; that of Gardener's has a schema that takes everything. They stay: tests of other packages
// may use them at the same time. The client must know CustomResourceDefinitions.
func Install(t testing.TB, c client.Client) {
	t.Helper()
	definitions.Install(t, c, definitions.Source{
		Folder: "test/certmanager", Module: "github.com/cert-manager/cert-manager", Files: "deploy/crds/cert-manager.io_*.yaml",
		Group: CertManager.Group, Kinds: []string{"Certificate", "CertificateRequest", "ClusterIssuer", "Issuer"},
	})
	definitions.Create(t, c, gardeners())
}

// gardeners is a definition of Gardener's Certificates.
func gardeners() *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates." + Gardener.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Gardener.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: Gardener.Kind, ListKind: Gardener.Kind + "List", Plural: "certificates", Singular: "certificate"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: Gardener.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
