package imports

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// refuse says why a template may not be used that takes its parts from elsewhere than these registries
// (docs/design/sync.md#user-provided-templates): whoever makes one must not be able to send us anywhere. It is empty
// where it may be used. One without an embedded descriptor gets both that and its parts from our own registry.
func refuse(template *v1beta2.ModuleTemplate, allowed artifacts.Registries) string {
	if descriptor.IsEmpty(template.Spec.Descriptor) {
		return ""
	}
	parsed, err := descriptor.Parse(template.Spec.Descriptor.Raw)
	if err != nil {
		return err.Error()
	}
	places := contexts(template.Spec.Descriptor.Raw)
	if parsed.Repository != "" {
		places = append(places, parsed.Repository)
	}
	for _, resource := range parsed.Resources {
		if resource.Access.Reference != "" {
			places = append(places, resource.Access.Reference)
		}
		// An image that is only listed may come from anywhere.
		if _, elsewhere := resource.Access.Blob(); elsewhere != "" && resource.Use() != descriptor.UseNone {
			places = append(places, elsewhere)
		}
	}
	for _, place := range places {
		switch host, ok := allowed.Has(place); {
		case host == "":
			return fmt.Sprintf("%q names no registry", withoutCredentials(place))
		case !ok:
			return fmt.Sprintf("registry %s is not one that user-provided templates may use (%s)", host, allowed)
		}
	}
	return ""
}

// contexts lists the places of all repository contexts of a descriptor, in both schemas, also of those that
// are no longer in effect.
func contexts(raw []byte) []string {
	type repository struct {
		BaseURL string `json:"baseUrl"`
	}
	var content struct {
		RepositoryContexts []repository `json:"repositoryContexts"`
		Component          struct {
			RepositoryContexts []repository `json:"repositoryContexts"`
		} `json:"component"`
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil // it was parsed before: what is of other types is none of ours
	}
	var places []string
	for _, context := range append(content.RepositoryContexts, content.Component.RepositoryContexts...) {
		if context.BaseURL != "" {
			places = append(places, context.BaseURL)
		}
	}
	return places
}

// withoutCredentials is a reference as it may be said.
func withoutCredentials(reference string) string {
	return reference[strings.LastIndex(reference, "@")+1:]
}
