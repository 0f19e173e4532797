package artifacts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Registries is a sorted list of registry hosts, each as `host` or `host:port`.
type Registries []string

// NewRegistries returns the registries on these hosts, or an error that quotes the first invalid host.
func NewRegistries(hosts []string) (Registries, error) {
	registries := make(Registries, 0, len(hosts))
	for _, host := range hosts {
		registry, err := name.NewRegistry(host, name.StrictValidation)
		if err != nil {
			return nil, fmt.Errorf("%q is not the host of a registry: %w", host, err)
		}
		registries = append(registries, strings.ToLower(registry.RegistryStr()))
	}
	slices.Sort(registries)
	return slices.Compact(registries), nil
}

// Has returns the host that a reference leads to, or "" if it names none, and reports whether that host is one of the
// registries.
func (r Registries) Has(reference string) (host string, ok bool) {
	host, _, _ = strings.Cut(withoutScheme(reference), "/")
	registry, err := name.NewRegistry(host, name.StrictValidation)
	if err != nil || host == "" {
		return "", false
	}
	host = strings.ToLower(registry.RegistryStr())
	return host, slices.Contains(r, host)
}

// String returns the registries for messages.
func (r Registries) String() string {
	if len(r) == 0 {
		return "no registry is allowed"
	}
	return "allowed: " + strings.Join(r, ", ")
}
