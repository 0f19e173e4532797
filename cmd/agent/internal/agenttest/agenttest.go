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
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/certificates"
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

// Issue issues a certificate for 127.0.0.1, for servers and clients, with its key.
func (a *Authority) Issue(commonName string) (certificate, key []byte) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: serial(a.t), Subject: pkix.Name{CommonName: commonName}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
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
	t      testing.TB
	folder string
}

// NewMount makes a folder with the certificate that an authority issues for a common name.
func NewMount(t testing.TB, by *Authority, commonName string) *Mount {
	t.Helper()
	m := &Mount{t: t, folder: t.TempDir()}
	m.Renew(by, commonName)
	return m
}

// Files are those in it.
func (m *Mount) Files() certificates.Files {
	return certificates.Files{
		Certificate: filepath.Join(m.folder, shared.CertificateKey), Key: filepath.Join(m.folder, shared.PrivateKeyKey),
		Authorities: filepath.Join(m.folder, shared.CertificateAuthorityKey),
	}
}

// Renew puts another certificate there.
func (m *Mount) Renew(by *Authority, commonName string) {
	m.t.Helper()
	certificate, key := by.Issue(commonName)
	m.Replace(map[string][]byte{shared.CertificateKey: certificate, shared.PrivateKeyKey: key, shared.CertificateAuthorityKey: by.PEM})
}

// Replace puts other files there as the kubelet does: a new folder with all of them, to which a link is replaced.
func (m *Mount) Replace(files map[string][]byte) {
	m.t.Helper()
	content, err := os.MkdirTemp(m.folder, "..")
	require.NoError(m.t, err)
	for name, each := range files {
		require.NoError(m.t, os.WriteFile(filepath.Join(content, name), each, 0o600))
		link := filepath.Join(m.folder, name)
		if _, err := os.Lstat(link); err != nil {
			require.NoError(m.t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	data := filepath.Join(m.folder, "..data")
	before, _ := os.Readlink(data)
	require.NoError(m.t, os.Symlink(filepath.Base(content), data+"_tmp"))
	require.NoError(m.t, os.Rename(data+"_tmp", data))
	if before != "" {
		require.NoError(m.t, os.RemoveAll(filepath.Join(m.folder, before)))
	}
}
