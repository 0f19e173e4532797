package artifacts

import "context"

// Layer names a layer in a registry.
type Layer struct {
	// Repository is the registry with the path before the component name, e.g. "host:5000/sub/component-descriptors".
	Repository string
	// Name is the component name, or what it is mapped to (see RepositoryName).
	Name string
	// Digest is "sha256:…".
	Digest string
}

// Store fetches, verifies and caches.
type Store struct{}

// New returns a Store. It makes no request.
func New(o Options) (*Store, error) { return &Store{}, nil }

// FetchDescriptor returns the component descriptor of a component version as it is stored (YAML or JSON).
// repository is "<registry>[/<subpath>]", without "component-descriptors".
func (s *Store) FetchDescriptor(ctx context.Context, repository, component, version string) ([]byte, error) {
	return nil, nil
}
