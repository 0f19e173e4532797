// Package agents reads what the agents of an instance should be (Source), brings an agent's certificate to its remote cluster
// (EnsureCertificate), and removes what an agent of either generation leaves behind there and in the control plane
// (RemoveRemote, RemoveCertificate).
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

// Source says what the agents of an instance are to be now.
type Source struct{ Options }

// Options are what a Source needs.
type Options struct {
	Settings desired.Settings
	// Watchers reads the Watchers from a cache.
	Watchers client.Reader
	// Authorities returns the certificates (PEM) by which agents and the API servers of their clusters check certificates,
	// and Address the host:port of the listener. Neither asks for more than once in some seconds. Their errors are faults.
	Authorities func(ctx context.Context) ([]byte, error)
	Address     func(ctx context.Context) (string, error)
	// Certificate is the version of the certificate of a Kyma's agent, of which nothing else is read.
	Certificate func(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error)
}

// NewSource returns a Source.
func NewSource(o Options) (*Source, error) {
	if o.Watchers == nil || o.Authorities == nil || o.Address == nil || o.Certificate == nil {
		return nil, errors.New("agents: Watchers, authorities, the listener's address and certificates are needed")
	}
	o.Settings = o.Settings.WithDefaults()
	return &Source{o}, nil
}

// Certificate is the version of the certificate of a Kyma's agent.
func (s *Source) Certificate(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error) {
	return s.Options.Certificate(ctx, kyma)
}

// Spec returns the desired agent. If a part cannot be read now, it returns an error instead of a smaller spec: nothing is
// removed because it was not found.
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

// Version changes when the spec does, and when it becomes unknown or known.
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
