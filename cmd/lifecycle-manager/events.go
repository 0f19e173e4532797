package main

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kyma-project/lifecycle-manager/activities/certificates"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/watchers/collectors"
	"github.com/kyma-project/lifecycle-manager/watchers/listener"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// certificates are the settings of the certificates of agents and listener, as the flags have them.
func (f *flags) certificates() certificates.Options {
	w := f.watching
	return certificates.Options{
		Management: certificates.Management(w.CertManagement), IssuerName: w.IssuerName, IssuerNamespace: w.IssuerNamespace,
		KeySize: w.KeySize, Duration: w.Duration, RenewBefore: w.RenewBefore, RenewBuffer: w.RenewBuffer, SwitchGracePeriod: w.SwitchGracePeriod,
	}
}

// addEvents adds the listener, and the metrics of certificates, to a process that watches, where remote clusters send events.
func addEvents(mgr manager.Manager, f *flags, a *worker.Assembly) error {
	watching := f.settings.Watching
	if !watching.Enabled() {
		return nil
	}
	name := worker.ListenerSecret(worker.Config{Settings: f.settings, Certificates: f.certificates()})
	secret := credentials.NewSecret(mgr.GetAPIReader(), name, watching.Routing == desired.RoutingDirect, mgr.GetLogger().WithName("listener"))
	if err := mgr.Add(secret); err != nil {
		return err
	}
	settings := f.settings.WithDefaults()
	taken, err := listener.New(listener.Options{
		Address: f.watching.BindAddress, Routing: watching.Routing, Manager: settings.ManagedBy, GatewayCIDRs: f.watching.Gateways(),
		Credentials: secret, Kymas: mgr.GetCache(), Manifests: mgr.GetCache(), Ours: settings.Ours, Kicks: a.Kicks,
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
		RenewBuffer: f.watching.RenewBuffer, ExpiryWindow: f.watching.ExpiryWindow, Log: mgr.GetLogger().WithName("certificates"),
	})
}
