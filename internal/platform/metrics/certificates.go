package metrics

import "github.com/prometheus/client_golang/prometheus"

// CertificatesNotRenewed has a series with value 1 per Kyma with an overdue renewal of its agent's certificate; labels:
// Kyma.
func CertificatesNotRenewed() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_self_signed_cert_not_renew",
		"Is 1 for each Kyma if the renewal of its agent's certificate is overdue by more than --self-signed-cert-renew-buffer.",
		[]string{labelKyma}, nil)
}

// ListenerCertificateCloseToExpiry is 1 if the listener's certificate is about to expire.
func ListenerCertificateCloseToExpiry() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_gateway_secret_server_cert_close_to_expiry",
		"Is 1 if the certificate of the listener for events from remote clusters is about to expire or cannot be read; else 0.",
		nil, nil)
}
