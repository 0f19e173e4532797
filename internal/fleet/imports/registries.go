package imports

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// refuse returns the reason why a template may not be used because its parts come from other registries than these
// (docs/design/sync.md#user-provided-templates): the author of a template must not be able to send our requests
// anywhere. It is empty if the template may be used. A template without an embedded descriptor gets its descriptor and
// parts from our own registry.
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
		// An image that is only listed may come from any registry.
		if _, elsewhere := resource.Access.Blob(); elsewhere != "" && resource.Use() != descriptor.UseNone {
			places = append(places, elsewhere)
		}
	}
	for _, place := range places {
		switch host, ok := allowed.Has(place); {
		case host == "":
			return fmt.Sprintf("%q names no registry", withoutCredentials(place))
		case !ok:
			return fmt.Sprintf("user-provided templates must not use registry %s (%s)", host, allowed)
		}
	}
	return ""
}

// contexts returns the addresses of all repository contexts of a descriptor, in both schemas, including those that are
// no longer in effect.
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
		return nil // the descriptor was parsed before: fields of other types are irrelevant
	}
	var places []string
	for _, context := range append(content.RepositoryContexts, content.Component.RepositoryContexts...) {
		if context.BaseURL != "" {
			places = append(places, context.BaseURL)
		}
	}
	return places
}

// withoutCredentials returns a reference without credentials, for messages.
func withoutCredentials(reference string) string {
	return reference[strings.LastIndex(reference, "@")+1:]
}
