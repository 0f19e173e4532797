package clusters

import "context"

// Registry gives access to clusters and caches it.
type Registry struct{}

// New returns a Registry. It makes no request.
func New(o Options) (*Registry, error) { return &Registry{}, nil }

// ControlPlane is the cluster of Lifecycle Manager's own resources.
func (r *Registry) ControlPlane() *Cluster { return nil }

// ForKyma gives access to the remote cluster of a Kyma.
func (r *Registry) ForKyma(ctx context.Context, namespace, kymaName string) (*Cluster, error) {
	return nil, nil
}

// Evict lets go of what is cached for a Kyma's cluster.
func (r *Registry) Evict(namespace, kymaName string) {}
