package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const present = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kymas.operator.kyma-project.io
spec:
  group: operator.kyma-project.io
  names: {kind: Kyma, plural: kymas}
  scope: Namespaced
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, description: Kyma describes a cluster.}
`

func TestOlderVersionsHaveTheSchemaOfThePresentOneAndAreNotStored(t *testing.T) {
	content, err := withOlderVersions([]byte(present))
	require.NoError(t, err)
	var definition apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(content, &definition))
	require.Len(t, definition.Spec.Versions, 3)
	for i, name := range []string{"v1alpha1", "v1beta1", "v1beta2"} {
		version := definition.Spec.Versions[i]
		require.Equal(t, name, version.Name)
		require.True(t, version.Served)
		require.Equal(t, name == "v1beta2", version.Storage)
		require.Equal(t, definition.Spec.Versions[2].Schema, version.Schema)
	}
	_, err = withOlderVersions(content)
	require.ErrorContains(t, err, "must have one version")
}
