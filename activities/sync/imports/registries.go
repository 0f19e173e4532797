package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// registries are the registries, in order, that user-provided templates may take their parts from
// (docs/design/sync.md#user-provided-templates): whoever makes one must not be able to send us anywhere.
type registries []string

func newRegistries(hosts []string) (registries, error) {
	allowed := make(registries, 0, len(hosts))
	for _, host := range hosts {
		registry, err := name.NewRegistry(host, name.StrictValidation)
		if err != nil {
			return nil, fmt.Errorf("sync: %q is not the host of a registry: %w", host, err)
		}
		allowed = append(allowed, strings.ToLower(registry.RegistryStr()))
	}
	slices.Sort(allowed)
	return slices.Compact(allowed), nil
}

// refuse says why a template may not be used; empty where it may. One without an embedded descriptor gets
// both that and its parts from our own registry.
func (r registries) refuse(template *v1beta2.ModuleTemplate) string {
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
		host, ok := hostOf(place)
		if !ok {
			return fmt.Sprintf("%q names no registry", withoutCredentials(place))
		}
		if !slices.Contains(r, host) {
			return fmt.Sprintf("registry %s is not one that user-provided templates may use (%s)", host, r)
		}
	}
	return ""
}

// String lists the registries for people.
func (r registries) String() string {
	if len(r) == 0 {
		return "none is allowed"
	}
	return "allowed: " + strings.Join(r, ", ")
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

// hostOf is the registry that a reference leads to, by the rules of those who fetch from it.
func hostOf(reference string) (string, bool) {
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		reference = strings.TrimPrefix(reference, scheme)
	}
	host, _, _ := strings.Cut(reference, "/")
	registry, err := name.NewRegistry(host, name.StrictValidation)
	if err != nil || host == "" {
		return "", false
	}
	return strings.ToLower(registry.RegistryStr()), true
}
