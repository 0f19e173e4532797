package watching

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/watchers/collectors"
	"github.com/kyma-project/lifecycle-manager/watchers/listener"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// Certificates returns the options for the certificates of agents and listener, without those that come from the
// instance's settings.
func (f *Flags) Certificates() certificates.Options {
	return certificates.Options{
		Management: certificates.Management(f.CertManagement), IssuerName: f.IssuerName, IssuerNamespace: f.IssuerNamespace,
		KeySize: f.KeySize, Duration: f.Duration, RenewBefore: f.RenewBefore, RenewBuffer: f.RenewBuffer, SwitchGracePeriod: f.SwitchGracePeriod,
	}
}

// Listen adds the listener and the certificate metrics to a process with watchers, if events from remote clusters are
// enabled.
func (f *Flags) Listen(mgr manager.Manager, settings desired.Settings, kicks listener.Kicks) error {
	settings = settings.WithDefaults()
	watching := settings.Watching
	if !watching.Enabled() {
		return nil
	}
	name := worker.ListenerSecret(worker.Config{Settings: settings, Certificates: f.Certificates()})
	secret := credentials.NewSecret(mgr.GetAPIReader(), name, watching.Routing == desired.RoutingDirect, mgr.GetLogger().WithName("listener"))
	if err := mgr.Add(secret); err != nil {
		return err
	}
	taken, err := listener.New(listener.Options{
		Address: f.BindAddress, Routing: watching.Routing, Manager: settings.ManagedBy, GatewayCIDRs: f.Gateways(),
		Credentials: secret, Kymas: mgr.GetCache(), Manifests: installations.Reader(mgr.GetCache()), Ours: settings.Ours, Kicks: kicks,
		Registry: metrics.Registry, Log: mgr.GetLogger().WithName("listener"),
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(taken); err != nil {
		return err
	}
	return collectors.AddCertificates(mgr, metrics.Registry, collectors.CertificatesOptions{
		Secrets: mgr.GetAPIReader(), Namespace: name.Namespace, ListenerSecret: name.Name, ManagedBy: settings.ManagedBy,
		RenewBuffer: f.RenewBuffer, ExpiryWindow: f.ExpiryWindow, Log: mgr.GetLogger().WithName("certificates"),
	})
}
