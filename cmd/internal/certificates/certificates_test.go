package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func until(t *testing.T, end int64) (certificate, key []byte) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(end-1000, 0), NotAfter: time.Unix(end, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &made.PublicKey, made)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(made)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

const help = `
# HELP lifecycle_mgr_certificate_not_after_timestamp_seconds Expiry of a certificate that this process presents, in Unix time: the certificate of its webhook or metrics, or its client certificate for Temporal or the control plane.
# TYPE lifecycle_mgr_certificate_not_after_timestamp_seconds gauge
`

func TestTheExpiryOfEachCertificateIsExported(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, end int64) string {
		certificate, _ := until(t, end)
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, certificate, 0o600))
		return file
	}
	pair, err := tls.X509KeyPair(until(t, 3000))
	require.NoError(t, err)
	write("tls.crt", 4000)
	registry := prometheus.NewRegistry()
	require.NoError(t, Register(registry, Shown{
		ControlPlane:  &rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: write("client.crt", 2000)}},
		Temporal:      &tls.Config{Certificates: []tls.Certificate{pair}}, //nolint:gosec // nobody connects
		MetricsFolder: folder,
		Webhook:       func() *x509.Certificate { return &x509.Certificate{NotAfter: time.Unix(5000, 0)} },
	}))
	expect := func(series ...string) {
		t.Helper()
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(help+strings.Join(series, "\n")+"\n"), "lifecycle_mgr_certificate_not_after_timestamp_seconds"))
	}
	expect(`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="control-plane"} 2000`,
		`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="metrics"} 4000`,
		`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="temporal"} 3000`,
		`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="webhook"} 5000`)

	write("tls.crt", 6000)
	require.NoError(t, os.Remove(filepath.Join(folder, "client.crt")))
	expect(`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="metrics"} 6000`,
		`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="temporal"} 3000`,
		`lifecycle_mgr_certificate_not_after_timestamp_seconds{certificate="webhook"} 5000`)
}

func TestAProcessWithoutCertificatesHasNoSeries(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	inConfig, _ := until(t, 2000)
	shown := Shown{ControlPlane: &rest.Config{}, Webhook: func() *x509.Certificate { return nil }}
	require.NoError(t, Register(registry, shown))
	count, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	require.Zero(t, count)

	shown.ControlPlane.CertData = inConfig
	require.Equal(t, int64(2000), shown.toControlPlane().NotAfter.Unix())
}
