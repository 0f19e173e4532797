package artifacts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Registries are hosts of registries, each as `host` or `host:port`, in order.
type Registries []string

// NewRegistries returns the registries on these hosts, or an error that quotes the first that is no host.
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

// Has tells to which host a reference leads, "" if it names none, and whether that is one of the registries.
func (r Registries) Has(reference string) (host string, ok bool) {
	host, _, _ = strings.Cut(withoutScheme(reference), "/")
	registry, err := name.NewRegistry(host, name.StrictValidation)
	if err != nil || host == "" {
		return "", false
	}
	host = strings.ToLower(registry.RegistryStr())
	return host, slices.Contains(r, host)
}

// String lists the registries for people.
func (r Registries) String() string {
	if len(r) == 0 {
		return "none is allowed"
	}
	return "allowed: " + strings.Join(r, ", ")
}
