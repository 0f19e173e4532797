// Package certificates finds the certificates that a process presents to others, so that metrics can report their
// expiry.
package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// Values of the metrics' label certificate.
const (
	controlPlane = "control-plane"
	temporal     = "temporal"
	served       = "metrics"
	webhook      = "webhook"
)

// Shown holds the peers that a process presents certificates to.
type Shown struct {
	// ControlPlane and Temporal may have client certificates. Temporal may be nil.
	ControlPlane *rest.Config
	Temporal     *tls.Config
	// MetricsFolder has the serving certificate of the metrics; empty if there is none.
	MetricsFolder string
	// Webhook returns the certificate of the admission webhook, or nil if there is none yet.
	Webhook func() *x509.Certificate
}

// Register registers the metrics of the certificates' expiry.
func Register(registry prometheus.Registerer, shown Shown) error {
	return metrics.RegisterCertificates(registry, map[string]func() *x509.Certificate{
		controlPlane: shown.toControlPlane, temporal: shown.toTemporal, served: shown.servingMetrics, webhook: shown.Webhook,
	})
}

func (s Shown) toControlPlane() *x509.Certificate {
	if len(s.ControlPlane.CertData) > 0 {
		return clusters.Leaf(s.ControlPlane.CertData)
	}
	return read(s.ControlPlane.CertFile)
}

func (s Shown) toTemporal() *x509.Certificate {
	if s.Temporal == nil || len(s.Temporal.Certificates) == 0 {
		return nil
	}
	return s.Temporal.Certificates[0].Leaf
}

func (s Shown) servingMetrics() *x509.Certificate {
	if s.MetricsFolder == "" {
		return nil
	}
	return read(filepath.Join(s.MetricsFolder, corev1.TLSCertKey))
}

// read reads a file again on each call, like the servers that use it. The users of the file report an invalid
// certificate.
func read(file string) *x509.Certificate {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return clusters.Leaf(content)
}
