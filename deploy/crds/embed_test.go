package crds_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
)

func TestEveryKindServesTheVersionsOfBothGenerations(t *testing.T) {
	all := []string{"v1alpha1", "v1beta1", "v1beta2"}
	want := map[string][]string{
		"kymas.operator.kyma-project.io":              all,
		"moduletemplates.operator.kyma-project.io":    all,
		"manifests.operator.kyma-project.io":          all,
		"watchers.operator.kyma-project.io":           all,
		"modulereleasemetas.operator.kyma-project.io": {"v1beta2"},
		"rolloutpolicies.operator.kyma-project.io":    {"v1beta2"},
		"modulerollouts.operator.kyma-project.io":     {"v1beta2"},
		"removalbudgets.operator.kyma-project.io":     {"v1beta2"},
		"remoteagents.operator.kyma-project.io":       {"v1beta2"},
	}

	definitions, err := crds.All()
	require.NoError(t, err)
	require.Len(t, definitions, len(want))
	for name, versions := range want {
		definition := definitions[name]
		require.NotNil(t, definition, name)
		require.Equal(t, apiextensionsv1.NamespaceScoped, definition.Spec.Scope, name)
		require.Nil(t, definition.Spec.Conversion, "%s: equal schemas need no conversion", name)
		var served []string
		for _, version := range definition.Spec.Versions {
			require.True(t, version.Served, "%s %s", name, version.Name)
			require.Equal(t, version.Name == "v1beta2", version.Storage, "%s: v1beta2 is stored", name)
			served = append(served, version.Name)
		}
		require.Equal(t, versions, served, name)
	}
}

func TestAllVersionsOfAKindHaveTheSameSchema(t *testing.T) {
	definitions, err := crds.All()
	require.NoError(t, err)
	for name, definition := range definitions {
		first := definition.Spec.Versions[0]
		for _, version := range definition.Spec.Versions[1:] {
			version.Name, version.Storage = first.Name, first.Storage
			require.Equal(t, first, version, "%s: schema, columns and subresources", name)
		}
	}
}

func TestShortNamesAndCategories(t *testing.T) {
	definitions, err := crds.All()
	require.NoError(t, err)
	shortNames := map[string]string{}
	for _, definition := range definitions {
		require.Equal(t, []string{"lifecycle"}, definition.Spec.Names.Categories)
		require.Len(t, definition.Spec.Names.ShortNames, 1)
		shortNames[definition.Spec.Names.Kind] = definition.Spec.Names.ShortNames[0]
	}
	require.Equal(t, map[string]string{
		"Kyma": "ky", "ModuleTemplate": "mt", "ModuleReleaseMeta": "mrm", "Manifest": "mf", "Watcher": "kw",
		"RolloutPolicy": "rop", "ModuleRollout": "mro",
		"RemovalBudget": "rb", "RemoteAgent": "ra",
	}, shortNames)
}

// Lifecycle Manager installs these definitions into remote clusters. The label
// shows who owns them.
func TestEveryDefinitionHasOurLabel(t *testing.T) {
	definitions, err := crds.All()
	require.NoError(t, err)
	for name, definition := range definitions {
		require.Equal(t, "kyma", definition.Labels["operator.kyma-project.io/managed-by"], name)
	}
}

// An object in Kubernetes may have at most about 1 MiB, including its managed
// fields.
func TestEveryFileStaysFarBelowTheSizeLimitOfAnObject(t *testing.T) {
	paths, err := fs.Glob(crds.Files, "*.yaml")
	require.NoError(t, err)
	require.Len(t, paths, 9)
	for _, path := range paths {
		info, err := fs.Stat(crds.Files, path)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(256*1024), path)
	}
}

func TestEveryFieldHasADescription(t *testing.T) {
	definitions, err := crds.All()
	require.NoError(t, err)
	for name, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			require.NotEmpty(t, root.Description, name)
			walk(root, name+" "+version.Name, func(path string, schema apiextensionsv1.JSONSchemaProps) {
				if path != name+" "+version.Name+".metadata" { // which the API server describes itself
					require.NotEmpty(t, schema.Description, path)
				}
			})
		}
	}
}

// Limits keep the cost of validation rules predictable, and hostile objects
// small. Only Lifecycle Manager writes a status, and Kubernetes limits labels.
func TestFieldsThatUsersWriteHaveLimits(t *testing.T) {
	definitions, err := crds.All()
	require.NoError(t, err)
	for name, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
			walk(&spec, name+" "+version.Name+".spec", func(path string, schema apiextensionsv1.JSONSchemaProps) {
				switch schema.Type {
				case "array":
					require.NotNil(t, schema.MaxItems, path)
					if items := schema.Items.Schema; items.Type == "string" {
						require.NotNil(t, items.MaxLength, path)
					}
				case "string":
					require.True(t, schema.MaxLength != nil || len(schema.Enum) > 0, path)
				}
			})
		}
	}
}

// walk calls visit for every property below the schema, including the items of
// lists. It skips label selectors, because Kubernetes defines them.
func walk(schema *apiextensionsv1.JSONSchemaProps, path string, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(schema.Items.Schema, path+"[]", visit)
	}
	if _, isSelector := schema.Properties["matchExpressions"]; isSelector {
		return
	}
	for name, property := range schema.Properties {
		visit(path+"."+name, property)
		walk(&property, path+"."+name, visit)
	}
}

func TestGetKeepsTheGivenOrder(t *testing.T) {
	found, err := crds.Get(crds.Watchers, crds.Kymas)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "Watcher", found[0].Spec.Names.Kind)
	require.Equal(t, "Kyma", found[1].Spec.Names.Kind)
}

func TestCallersGetTheirOwnCopies(t *testing.T) {
	first, err := crds.Get(crds.Kymas)
	require.NoError(t, err)
	first[0].Spec.Versions[0].Name = "changed"
	second, err := crds.Get(crds.Kymas)
	require.NoError(t, err)
	require.NotEqual(t, "changed", second[0].Spec.Versions[0].Name)
}

func TestGetRefusesAnUnknownName(t *testing.T) {
	_, err := crds.Get(crds.Kymas, "pods.example.com")
	require.ErrorIs(t, err, crds.ErrUnknown)
	require.ErrorContains(t, err, "pods.example.com")
}
