package metrics

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
)

// ClusterCredentials counts the clusters by the expiry of the access Secret's credentials that this process uses;
// labels: expiry.
func ClusterCredentials() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_cluster_credentials",
		"Remote clusters that this process has sent requests to in the last half hour, by the expiry of the credentials in their access Secrets: Later, Soon (in less than 7 days and less than a fifth of their lifetime), Expired, or Unknown if the credentials do not say.",
		[]string{"expiry"}, nil)
}

// ClusterCredentialsEnd has a series per Kyma; labels: Kyma.
func ClusterCredentialsEnd() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds",
		"Expiry of the credentials in a Kyma's access Secret, if this process has used them in the last half hour, in Unix time.",
		[]string{labelKyma}, nil)
}

// RegisterCertificates registers the validity of a process's own certificates. It calls the functions in shown, by
// name, at each scrape. A function that returns nil has no series.
func RegisterCertificates(registry prometheus.Registerer, shown map[string]func() *x509.Certificate) error {
	label := []string{"certificate"}
	return register(registry, "the certificates", &certificates{
		shown: shown,
		begin: prometheus.NewDesc("lifecycle_mgr_certificate_not_before_timestamp_seconds",
			"Begin of the validity of a certificate that this process presents, in Unix time.", label, nil),
		end: prometheus.NewDesc("lifecycle_mgr_certificate_not_after_timestamp_seconds",
			"Expiry of a certificate that this process presents, in Unix time: the certificate of its webhook or metrics, or its client certificate for Temporal or the control plane.", label, nil),
	})
}

type certificates struct {
	shown      map[string]func() *x509.Certificate
	begin, end *prometheus.Desc
}

// Describe sends the descriptions of the metrics.
func (c *certificates) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.begin
	descriptions <- c.end
}

// Collect sends the validity of each certificate.
func (c *certificates) Collect(collected chan<- prometheus.Metric) {
	for name, shown := range c.shown {
		certificate := shown()
		if certificate == nil {
			continue
		}
		collected <- prometheus.MustNewConstMetric(c.begin, prometheus.GaugeValue, float64(certificate.NotBefore.Unix()), name)
		collected <- prometheus.MustNewConstMetric(c.end, prometheus.GaugeValue, float64(certificate.NotAfter.Unix()), name)
	}
}
