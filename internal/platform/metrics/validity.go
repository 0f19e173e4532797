package metrics

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
)

// ClusterCredentials are the credentials in access Secrets that a process uses, by how near their end is; labels: expiry.
func ClusterCredentials() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_cluster_credentials",
		"Remote clusters that this process has asked in the last half hour, by when the credentials in their access Secrets expire: Later, Soon (in less than 7 days and less than a fifth of their lifetime), Expired, or Unknown where they do not say.",
		[]string{"expiry"}, nil)
}

// ClusterCredentialsEnd has a series per Kyma; labels: Kyma.
func ClusterCredentialsEnd() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_cluster_credentials_not_after_timestamp_seconds",
		"When the credentials in the access Secret of a Kyma expire that this process has used in the last half hour, in Unix time.",
		[]string{labelKyma}, nil)
}

// RegisterCertificates registers what is known of the certificates that a process itself shows, asked by their names at each
// scrape. There is no series where there is no certificate.
func RegisterCertificates(registry prometheus.Registerer, shown map[string]func() *x509.Certificate) error {
	label := []string{"certificate"}
	return register(registry, "the certificates", &certificates{
		shown: shown,
		begin: prometheus.NewDesc("lifecycle_mgr_certificate_not_before_timestamp_seconds",
			"From when on a certificate is valid that this process shows, in Unix time.", label, nil),
		end: prometheus.NewDesc("lifecycle_mgr_certificate_not_after_timestamp_seconds",
			"When a certificate expires that this process shows, in Unix time: that of its webhook or metrics, or its client certificate for Temporal or the control plane.", label, nil),
	})
}

type certificates struct {
	shown      map[string]func() *x509.Certificate
	begin, end *prometheus.Desc
}

// Describe says which metrics there are.
func (c *certificates) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.begin
	descriptions <- c.end
}

// Collect asks for the certificates.
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
