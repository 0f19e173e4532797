package preflight

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/openapi"

	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
)

const remedyDefinitions = "lifecycle-manager crds | kubectl apply --server-side -f -"

// schema is the part of a published schema that is compared.
type schema struct {
	Properties            map[string]schema `json:"properties"`
	AdditionalProperties  *anySchema        `json:"additionalProperties"`
	Items                 *schema           `json:"items"`
	Enum                  []any             `json:"enum"`
	PreserveUnknownFields bool              `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds                 []kindOfSchema    `json:"x-kubernetes-group-version-kind"`
	Ref                   string            `json:"$ref"`
	AllOf                 []json.RawMessage `json:"allOf"`
}

type kindOfSchema struct{ Group, Version, Kind string }

// anySchema is a schema, or true.
type anySchema struct{ schema }

// UnmarshalJSON implements json.Unmarshaler.
func (s *anySchema) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '{' {
		s.PreserveUnknownFields = true
		return nil
	}
	return json.Unmarshal(raw, &s.schema)
}

// Published holds an API server's schemas of the kinds in our group, by "version/Kind".
type Published map[string]schema

// ReadPublished reads the schemas that an API server publishes for our kinds. Every authenticated user may read them.
func ReadPublished(client openapi.Client) (Published, error) {
	paths, err := client.Paths()
	if err != nil {
		return nil, fmt.Errorf("list the schemas that the API server publishes: %w", err)
	}
	definitions, err := crds.All()
	if err != nil {
		return nil, err
	}
	published := Published{}
	for _, path := range groupVersions(definitions) {
		at, served := paths[path]
		if !served {
			continue
		}
		raw, err := at.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("read the schemas of %s: %w", path, err)
		}
		var document struct {
			Components struct {
				Schemas map[string]schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			return nil, fmt.Errorf("parse the schemas of %s: %w", path, err)
		}
		for _, each := range document.Components.Schemas {
			for _, kind := range each.Kinds {
				published[kind.Version+"/"+kind.Kind] = each
			}
		}
	}
	return published, nil
}

// groupVersions returns the paths, below the path of the schemas, of all versions of the definitions.
func groupVersions(definitions map[string]*apiextensionsv1.CustomResourceDefinition) []string {
	all := map[string]bool{}
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			all["apis/"+definition.Spec.Group+"/"+version.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Older returns what an API server lacks of this build's CustomResourceDefinitions, by their names: fields that it
// would drop, and values that it would refuse. An empty result means that the definitions are as new as the build, or
// newer.
func Older(published Published, definitions map[string]*apiextensionsv1.CustomResourceDefinition) map[string][]string {
	older := map[string][]string{}
	for name, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			if !version.Served {
				continue
			}
			there, served := published[version.Name+"/"+definition.Spec.Names.Kind]
			if !served {
				older[name] = append(older[name], "version "+version.Name)
				continue
			}
			for _, missing := range missingIn(there, version.Schema.OpenAPIV3Schema, "") {
				if !slices.Contains(older[name], missing) {
					older[name] = append(older[name], missing)
				}
			}
		}
	}
	return older
}

// missingIn returns the paths below a path that a published schema lacks.
func missingIn(there schema, ours *apiextensionsv1.JSONSchemaProps, path string) []string {
	if ours == nil || there.PreserveUnknownFields || there.Ref != "" || len(there.AllOf) > 0 {
		return nil
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(ours.Properties)) {
		ourField := ours.Properties[name]
		field, known := there.Properties[name]
		if !known {
			missing = append(missing, path+"."+name)
			continue
		}
		missing = append(missing, missingIn(field, &ourField, path+"."+name)...)
	}
	for _, value := range ours.Enum {
		var ourValue any
		if json.Unmarshal(value.Raw, &ourValue) == nil && len(there.Enum) > 0 && !slices.Contains(there.Enum, ourValue) {
			missing = append(missing, fmt.Sprintf("%s: %v", path, ourValue))
		}
	}
	if ours.Items != nil && there.Items != nil {
		missing = append(missing, missingIn(*there.Items, ours.Items.Schema, path+"[]")...)
	}
	if ours.AdditionalProperties != nil && there.AdditionalProperties != nil {
		missing = append(missing, missingIn(there.AdditionalProperties.schema, ours.AdditionalProperties.Schema, path+"{}")...)
	}
	return missing
}

// judgeDefinitions checks that the CustomResourceDefinitions are as new as the build.
func judgeDefinitions(published Published, unread error) []Finding {
	const subject = "CustomResourceDefinitions"
	if unread != nil {
		return []Finding{bad(subject, "", "%s", unread)}
	}
	definitions, err := crds.All()
	if err != nil {
		return []Finding{bad(subject, "", "%s", err)}
	}
	older := Older(published, definitions)
	var findings []Finding
	for _, name := range slices.Sorted(maps.Keys(older)) {
		missing := older[name]
		if len(missing) == served(definitions[name]) && missing[0] == "version "+definitions[name].Spec.Versions[0].Name {
			findings = append(findings, bad(subject, remedyDefinitions, "%s is missing", name))
			continue
		}
		const most = 3
		more := ""
		if len(missing) > most {
			more = fmt.Sprintf(" and %d more", len(missing)-most)
		}
		findings = append(findings, bad(subject, remedyDefinitions, "%s is older than this build: it lacks %s%s", name, listed(missing[:min(most, len(missing))]), more))
	}
	if len(findings) == 0 {
		findings = append(findings, good(subject, "all %d are as new as this build", len(definitions)))
	}
	return findings
}

func served(definition *apiextensionsv1.CustomResourceDefinition) int {
	count := 0
	for _, version := range definition.Spec.Versions {
		if version.Served {
			count++
		}
	}
	return count
}
