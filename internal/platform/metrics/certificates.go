package metrics

import "github.com/prometheus/client_golang/prometheus"

// CertificatesNotRenewed has a series with value 1 per Kyma whose agent's certificate is late; labels: Kyma.
func CertificatesNotRenewed() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_self_signed_cert_not_renew",
		"Is 1 for each Kyma with an agent whose certificate should have been renewed, longer ago than --self-signed-cert-renew-buffer.",
		[]string{labelKyma}, nil)
}

// ListenerCertificateCloseToExpiry is 1 where the listener's certificate is about to expire.
func ListenerCertificateCloseToExpiry() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_gateway_secret_server_cert_close_to_expiry",
		"Is 1 where the listener for events from remote clusters has a certificate that is about to expire, or none that can be read; else 0.",
		nil, nil)
}
