package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/certificates"
)

// servingFlags say where the process serves metrics, probes and profiles.
type servingFlags struct {
	metricsAddress, probeAddress, pprofAddress string
	metricsSecure, pprof                       bool
	metricsCertDir                             string
	perClusterMetrics                          bool
}

func (f *servingFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 switches it off")
	set.BoolVar(&f.metricsSecure, "metrics-secure", false, "serve metrics by HTTPS, and only to clients whose token the API server accepts and who may get the URL /metrics")
	set.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key for --metrics-secure, read again when they change; default: a self-signed certificate")
	set.BoolVar(&f.perClusterMetrics, "per-cluster-metrics", true, "export the state of every Kyma and module; switch it off for large fleets")
	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 switches them off")
	set.BoolVar(&f.pprof, "pprof", false, "serve pprof")
	set.StringVar(&f.pprofAddress, "pprof-bind-address", ":8084", "address of pprof")
}

func (f *servingFlags) check() error {
	if f.metricsCertDir != "" && !f.metricsSecure {
		return errors.New("--metrics-cert-dir needs --metrics-secure")
	}
	return nil
}

// metricsServer returns the options of the metrics server. With --metrics-secure a client shows a token, and the API server
// decides whether it may get /metrics.
func (f *servingFlags) metricsServer() server.Options {
	options := server.Options{BindAddress: f.metricsAddress}
	if f.metricsSecure {
		options.SecureServing, options.CertDir = true, f.metricsCertDir
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// showCertificates exports metrics that say when the certificates of this process expire.
func (f *servingFlags) showCertificates(controlPlane *rest.Config, toTemporal *tls.Config, webhook func() *x509.Certificate) error {
	return certificates.Register(metrics.Registry, certificates.Shown{
		ControlPlane: controlPlane, Temporal: toTemporal, MetricsFolder: f.metricsCertDir, Webhook: webhook,
	})
}

// leaseFlags say how processes elect a leader.
type leaseFlags struct {
	leaderElect                               bool
	leaderElectionNamespace                   string
	leaseDuration, renewDeadline, retryPeriod time.Duration
}

func (f *leaseFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.leaderElect, "leader-elect", false, "watch only while this process holds the lease; needed if more than one process watches")
	set.StringVar(&f.leaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease; default: the pod's")
	set.DurationVar(&f.leaseDuration, "leader-election-lease-duration", 180*time.Second, "how long other processes wait before they take over an unrenewed lease")
	set.DurationVar(&f.renewDeadline, "leader-election-renew-deadline", 120*time.Second, "how long the leader tries to renew the lease before it gives up")
	set.DurationVar(&f.retryPeriod, "leader-election-retry-period", 3*time.Second, "how often a process tries to get the lease")
}
