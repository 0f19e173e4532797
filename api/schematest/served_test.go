package schematest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const crdFolder = "../../deploy/crds"

// group is the API group of all kinds; the tests spell it out, for it is what
// users write.
const group = "operator.kyma-project.io"

// readDefinitions parses every generated CustomResourceDefinition, by kind.
func readDefinitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, paths, 9, "one file per kind")

	definitions := make(map[string]*apiextensionsv1.CustomResourceDefinition, len(paths))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.UnmarshalStrict(content, definition), path)
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		definitions[definition.Spec.Names.Kind] = definition
	}
	return definitions
}

// internal converts a definition to the form that the API server works with.
func internal(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	converted := &apiextensions.CustomResourceDefinition{}
	require.NoError(t,
		apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
			definition, converted, nil))
	return converted
}

// served is one kind in one served version.
type served struct {
	kind, version string
	structural    *structuralschema.Structural
	schema        validation.SchemaValidator
	rules         *cel.Validator
}

// servedVersions returns every served version of every kind, in the order of
// the definition.
func servedVersions(t *testing.T) map[string][]served {
	t.Helper()
	versions := map[string][]served{}
	for kind, definition := range readDefinitions(t) {
		for _, version := range definition.Spec.Versions {
			require.True(t, version.Served, "%s %s", kind, version.Name)
			schemaV1 := version.Schema.OpenAPIV3Schema
			props := &apiextensions.JSONSchemaProps{}
			require.NoError(t,
				apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schemaV1, props, nil))
			structural, err := structuralschema.NewStructural(props)
			require.NoError(t, err)
			schema, _, err := validation.NewSchemaValidator(props)
			require.NoError(t, err)
			versions[kind] = append(versions[kind], served{
				kind:       kind,
				version:    version.Name,
				structural: structural,
				schema:     schema,
				rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
			})
		}
	}
	return versions
}

// admitted is an object as the API server would store it, and what it says
// about the object.
type admitted struct {
	object  map[string]any
	unknown []string
	errs    field.ErrorList
}

// admit does what the API server does with a new object: it drops nulls and
// unknown fields, sets defaults, and validates schema, embedded objects, lists
// and rules.
func (s served) admit(t *testing.T, object map[string]any) admitted {
	t.Helper()
	result := admitted{object: object}

	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	result.unknown = pruning.PruneWithOptions(object, s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if err := objectmeta.Coerce(nil, object, s.structural, true, false); err != nil {
		result.errs = append(result.errs, err)
	}

	result.errs = append(result.errs, validation.ValidateCustomResource(nil, object, s.schema)...)
	result.errs = append(result.errs, objectmeta.Validate(context.Background(), nil, object, s.structural, false)...)
	result.errs = append(result.errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(result.errs) == 0 && s.rules != nil {
		errs, _ := s.rules.Validate(context.Background(), nil, s.structural, object, nil,
			celconfig.RuntimeCELCostBudget)
		result.errs = append(result.errs, errs...)
	}
	return result
}

// object parses a YAML document as an object of the kind in the version. Name
// and namespace are added where the document gives none.
func (s served) object(t *testing.T, document string) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(document))
	require.NoError(t, err, "the test's own YAML")
	content := map[string]any{}
	require.NoError(t, json.Unmarshal(asJSON, &content))
	content["apiVersion"] = group + "/" + s.version
	content["kind"] = s.kind
	if _, given := content["metadata"]; !given {
		content["metadata"] = map[string]any{"name": "sample", "namespace": "kcp-system"}
	}
	return content
}

// verdict is a document and what the API server must say about it.
type verdict struct {
	name string
	yaml string
	// refused is a part of the error that the user must see; empty means that
	// the document must be accepted without losing a field.
	refused string
}

// requireVerdicts checks the documents against every served version of a kind.
func requireVerdicts(t *testing.T, kind string, verdicts []verdict) {
	t.Helper()
	versions := servedVersions(t)[kind]
	require.NotEmpty(t, versions)
	for _, version := range versions {
		for _, want := range verdicts {
			t.Run(version.version+"/"+want.name, func(t *testing.T) {
				got := version.admit(t, version.object(t, want.yaml))
				if want.refused == "" {
					require.Empty(t, got.errs)
					require.Empty(t, got.unknown, "fields that the schema does not know")
					return
				}
				require.ErrorContains(t, got.errs.ToAggregate(), want.refused)
			})
		}
	}
}
