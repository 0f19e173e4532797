package worker

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/rotate"
	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// watching holds the parts for events from remote clusters. It is the zero value if events are switched off.
type watching struct {
	issuer certificates.Issuer
	agents *agents.Source
}

// assembleWatching creates the parts that agents need: the issuer of their certificates, and the source of their
// desired state.
func (a *Assembly) assembleWatching(p Parts, controlPlane client.Client) error {
	settings := p.Config.Settings.Watching
	if !settings.Enabled() {
		return nil
	}
	addresses := routing.NewAddresses(settings, p.Cache)
	options := p.Config.Certificates
	options.Client, options.Namespace, options.ManagedBy = controlPlane, settings.IstioNamespace, p.Config.Settings.WithDefaults().ManagedBy
	options.FindListenerNames = listenerNames(addresses.Address)
	var err error
	if a.watching.issuer, err = certificates.NewIssuer(options); err != nil {
		return err
	}
	rotation, err := certificates.New(options)
	if err != nil {
		return err
	}
	a.Activities.Certificates = rotate.New(rotation)
	routes := routing.Options{Settings: p.Config.Settings, ControlPlane: controlPlane, Informers: p.Cache}
	if p.Events != nil {
		routes.Events = p.Events
	}
	if a.Activities.Routing, err = routing.New(routes); err != nil {
		return err
	}
	authorities := agents.NewAuthorities(controlPlane, ListenerSecret(p.Config), time.Now)
	a.watching.agents, err = agents.NewSource(agents.Options{
		Settings: p.Config.Settings, Watchers: p.Cache, Authorities: authorities.Get, Address: addresses.Address,
		Certificate: func(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error) {
			version, err := a.known.AgentCertificate(ctx, settings.IstioNamespace, kyma.Name, certificates.AnnotationRenewal, time.Now())
			if revoked := kyma.Annotations[shared.AnnotationRevokedCertificates]; revoked != "" {
				version.ResourceVersion += ", without " + revoked
			}
			return version, err
		},
	})
	if err != nil {
		return err
	}
	a.Inputs.Agents, a.Inputs.AgentCertificate = a.watching.agents.Version, a.watching.agents.Certificate
	return nil
}

// ListenerSecret returns the name of the Secret with the listener's certificate and trusted authorities.
func ListenerSecret(c Config) types.NamespacedName {
	return types.NamespacedName{
		Namespace: c.Settings.Watching.IstioNamespace, Name: cmp.Or(c.Certificates.ListenerSecret, certificates.DefaultListenerSecret),
	}
}

// listenerNames returns a function that returns the DNS names of the listener's certificate: the host that agents
// connect to.
func listenerNames(address func(ctx context.Context) (string, error)) func(ctx context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		at, err := address(ctx)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(at)
		if err != nil {
			return nil, fmt.Errorf("parse the address of the listener: %w", err)
		}
		return []string{host}, nil
	}
}

// removing removes the agent certificates of Kymas that are removed.
type removing struct{ issuer certificates.Issuer }

// Remove implements resolve.Certificates.
func (r removing) Remove(ctx context.Context, kyma *v1beta2.Kyma) error {
	return r.issuer.Remove(ctx, kyma.Namespace, kyma.Name)
}
