// Package agents manages the agents' Secrets and leftovers. Source returns what the agents of an instance should be.
// EnsureCertificate writes an agent's certificate into its remote cluster. RemoveRemote and RemoveCertificate remove
// what an agent of either generation leaves behind in the remote cluster and in the control plane.
package agents

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Source returns the desired agent of an instance.
type Source struct{ Options }

// Options configures a Source. All fields but Settings are required.
type Options struct {
	Settings desired.Settings
	// Watchers reads the Watchers from a cache.
	Watchers client.Reader
	// Authorities returns the certificates (PEM) with which agents, and the API servers of their clusters, check
	// certificates. Address returns the host:port of the listener. Both cache their result for a few seconds, and their
	// errors are faults.
	Authorities func(ctx context.Context) ([]byte, error)
	Address     func(ctx context.Context) (string, error)
	// Certificate returns the version of the certificate of a Kyma's agent. It reads nothing else of the certificate.
	Certificate func(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error)
}

// NewSource returns a Source.
func NewSource(o Options) (*Source, error) {
	if o.Watchers == nil || o.Authorities == nil || o.Address == nil || o.Certificate == nil {
		return nil, errors.New("agents: Options.Watchers, Authorities, Address and Certificate must not be nil")
	}
	o.Settings = o.Settings.WithDefaults()
	return &Source{o}, nil
}

// Certificate returns the version of the certificate of a Kyma's agent.
func (s *Source) Certificate(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error) {
	return s.Options.Certificate(ctx, kyma)
}

// Spec returns the desired agent. If a part cannot be read now, Spec returns an error instead of a smaller spec, so
// that nothing is removed only because it was not found.
func (s *Source) Spec(ctx context.Context) (agent.Spec, error) {
	var list v1beta2.WatcherList
	if err := s.Watchers.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return agent.Spec{}, fmt.Errorf("list Watchers: %w", err)
	}
	authorities, err := s.Authorities(ctx)
	if err != nil {
		return agent.Spec{}, err
	}
	address, err := s.Address(ctx)
	if err != nil {
		return agent.Spec{}, err
	}
	own := s.Settings.Watching
	return agent.Spec{
		Image: own.Image, MemoryLimit: own.MemoryLimit, CPULimit: own.CPULimit, FIPS: own.FIPS,
		Listener: address, Authorities: string(authorities), Watches: agent.WatchesOf(s.Settings, list.Items),
	}, nil
}

// Version changes when the spec changes, and when the spec becomes unknown or known.
func (s *Source) Version(ctx context.Context) (string, error) {
	spec, err := s.Spec(ctx)
	if err == nil {
		return spec.Version(), nil
	}
	if f := fault.Of(err); f.Kind == fault.Rejected || f.Kind == fault.Pending {
		return agent.Unknown(f.Reason), nil
	}
	return "", err
}
