// Package agenttest has what tests of the agent share: authorities, certificates, and a folder with them that changes as
// the kubelet changes the folder of a mounted Secret.
package agenttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/agentpod"
)

// Authority issues certificates.
type Authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	// PEM is its own certificate.
	PEM []byte
}

// NewAuthority makes an authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t}
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(raw)
	require.NoError(t, err)
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return a
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	return number
}

// Pool has its own certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Secret is the content of an agent's Secret with a new certificate.
func (a *Authority) Secret(commonName string, hosts ...string) map[string][]byte {
	a.t.Helper()
	certificate, key := a.Issue(commonName, hosts...)
	return map[string][]byte{shared.CertificateKey: certificate, shared.PrivateKeyKey: key, shared.CertificateAuthorityKey: a.PEM}
}

// Issue issues a certificate for 127.0.0.1 and these hosts, for servers and clients, with its key.
func (a *Authority) Issue(commonName string, hosts ...string) (certificate, key []byte) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: serial(a.t), Subject: pkix.Name{CommonName: commonName}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, own.Public(), a.key)
	require.NoError(a.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// Pair issues a certificate for use in this process.
func (a *Authority) Pair(commonName string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(commonName))
	require.NoError(a.t, err)
	return pair
}

// Mount is a folder as that of a mounted Secret.
type Mount struct {
	t testing.TB
	// Folder has the files.
	Folder string
}

// NewMount makes a folder without files.
func NewMount(t testing.TB) *Mount {
	t.Helper()
	return &Mount{t: t, Folder: t.TempDir()}
}

// MountCertificate makes a folder with the certificate that an authority issues for a common name.
func MountCertificate(t testing.TB, by *Authority, commonName string) *Mount {
	t.Helper()
	m := NewMount(t)
	m.Renew(by, commonName)
	return m
}

// Renew puts another certificate there.
func (m *Mount) Renew(by *Authority, commonName string) {
	m.t.Helper()
	require.NoError(m.t, m.Replace(by.Secret(commonName)))
}

// Replace puts other files there.
func (m *Mount) Replace(files map[string][]byte) error { return agentpod.Mount(m.Folder, files) }
