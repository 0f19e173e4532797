package reserved

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestObjectsOfLifecycleManagerAreReserved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind      schema.GroupKind
		namespace string
		name      string
		reserved  bool
	}{
		"the definition of Kymas":          {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "kymas.operator.kyma-project.io", true},
		"the definition of release metas":  {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "modulereleasemetas.operator.kyma-project.io", true},
		"the definition of Watchers":       {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "watchers.operator.kyma-project.io", true},
		"a module's definition":            {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "kedas.operator.kyma-project.io", false},
		"a definition of another group":    {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, "", "kymas.example.com", false},
		"a Kyma":                           {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "Kyma"}, "kyma-system", "default", true},
		"a Kyma elsewhere":                 {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "Kyma"}, "mine", "mine", true},
		"a template of the catalog":        {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "ModuleTemplate"}, "", "a", true},
		"a release meta of the catalog":    {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "ModuleReleaseMeta"}, "", "a", true},
		"a Manifest":                       {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "Manifest"}, "kcp-system", "a", true},
		"a Watcher":                        {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "Watcher"}, "kcp-system", "a", false},
		"a module's custom resource":       {schema.GroupKind{Group: "operator.kyma-project.io", Kind: "Keda"}, "kyma-system", "default", false},
		"the agent":                        {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "kyma-system", "skr-webhook", true},
		"the agent without its namespace":  {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "", "skr-webhook", true},
		"a Deployment of that name":        {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "mine", "skr-webhook", false},
		"the agent's webhook":              {schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, "", "skr-webhook", true},
		"the agent's network policy":       {schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, "kyma-system", "kyma-project.io--watcher-to-dns", true},
		"a module's network policy":        {schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, "kyma-system", "kyma-project.io--mine", false},
		"another webhook":                  {schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, "", "mine", false},
		"another kind with the same names": {schema.GroupKind{Kind: "ConfigMap"}, "kyma-system", "skr-webhook", false},
	} {
		why := Object(test.kind, types.NamespacedName{Namespace: test.namespace, Name: test.name})
		require.Equal(t, test.reserved, why != "", name)
	}
}

func TestLabelsOfOurNamespacesAreReserved(t *testing.T) {
	t.Parallel()
	namespace := schema.GroupKind{Kind: "Namespace"}
	require.Empty(t, Marks(namespace, "kyma-system", map[string]string{"istio-injection": "enabled", "app": "mine"}))
	require.Empty(t, Marks(namespace, "mine", map[string]string{"istio-injection": "disabled"}))
	require.Contains(t, Marks(namespace, "kyma-system", map[string]string{"istio-injection": "disabled"}), "istio-injection")
	require.Contains(t, Marks(namespace, "kyma-system", map[string]string{"namespaces.warden.kyma-project.io/validate": ""}), "warden")
}
