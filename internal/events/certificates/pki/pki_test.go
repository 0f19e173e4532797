package pki

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, name string) (Pair, *x509.Certificate) {
	t.Helper()
	pair, err := NewAuthority(name, noon, noon.Add(100*time.Hour))
	require.NoError(t, err)
	leaf, err := pair.Leaf()
	require.NoError(t, err)
	return pair, leaf
}

func sign(t *testing.T, by Pair, template Template) (Pair, *x509.Certificate) {
	t.Helper()
	key, err := NewKey()
	require.NoError(t, err)
	pair, err := by.Sign(key, noon, template)
	require.NoError(t, err)
	leaf, err := pair.Leaf()
	require.NoError(t, err)
	return pair, leaf
}

func TestNoCertificateOutlivesItsAuthority(t *testing.T) {
	by, ca := authority(t, "ca")
	_, leaf := sign(t, by, Template{CommonName: "x", NotAfter: noon.Add(200 * time.Hour)})
	require.Equal(t, ca.NotAfter, leaf.NotAfter)
	_, leaf = sign(t, by, Template{CommonName: "x", NotAfter: noon.Add(time.Hour)})
	require.Equal(t, noon.Add(time.Hour), leaf.NotAfter)
}

func TestACertificateIsForItsUseOnly(t *testing.T) {
	by, ca := authority(t, "ca")
	_, server := sign(t, by, Template{Names: []string{"a.example.com", "127.0.0.1"}, NotAfter: noon.Add(time.Hour)})
	_, client := sign(t, by, Template{Client: true, NotAfter: noon.Add(time.Hour)})
	verify := func(leaf *x509.Certificate, usage x509.ExtKeyUsage) error {
		pool := x509.NewCertPool()
		pool.AddCert(ca)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: noon, KeyUsages: []x509.ExtKeyUsage{usage}})
		return err
	}
	require.NoError(t, verify(server, x509.ExtKeyUsageServerAuth))
	require.Error(t, verify(server, x509.ExtKeyUsageClientAuth))
	require.NoError(t, verify(client, x509.ExtKeyUsageClientAuth))
	require.False(t, server.IsCA)
	require.NoError(t, server.VerifyHostname("127.0.0.1"))
	require.True(t, HasNames(server, []string{"127.0.0.1", "a.example.com", "a.example.com"}))
	require.False(t, HasNames(server, []string{"a.example.com"}))
}

func TestTheAuthorityOfACertificateIsFoundAlsoAfterItExpired(t *testing.T) {
	first, firstCA := authority(t, "first")
	second, secondCA := authority(t, "second")
	both := []*x509.Certificate{firstCA, secondCA}
	of := func(pair Pair) *x509.Certificate { return AuthorityOf(pair.Certificate, both) }
	a, _ := sign(t, first, Template{NotAfter: noon.Add(-30 * time.Minute)})
	b, _ := sign(t, second, Template{NotAfter: noon.Add(time.Hour)})
	require.Equal(t, firstCA, of(a))
	require.Equal(t, secondCA, of(b))
	require.Equal(t, firstCA, of(first), "upstream's listener shows the authority itself")
	require.Nil(t, AuthorityOf(a.Certificate, both[1:]))
	require.Nil(t, AuthorityOf([]byte("nothing"), both))
}

func TestABundleDoesNotDependOnTheOrderAndHasNoDuplicates(t *testing.T) {
	_, a := authority(t, "a")
	_, b := authority(t, "b")
	bundle := Bundle(a, b, a)
	require.Equal(t, bundle, Bundle(b, a))
	require.Len(t, Parse(bundle), 2)
	require.Empty(t, Parse([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")))
}

func TestAnErrorNeverQuotesAKey(t *testing.T) {
	pair, _ := authority(t, "a")
	other, _ := authority(t, "b")
	mixed := Pair{Certificate: pair.Certificate, PrivateKey: other.PrivateKey}
	_, err := mixed.Leaf()
	require.EqualError(t, err, "certificate and private key cannot be read, or do not belong together")
	key, err := NewKey()
	require.NoError(t, err)
	_, err = mixed.Sign(key, noon, Template{})
	require.ErrorContains(t, err, "do not belong together")
	_, err = pair.Sign(key, noon, Template{CommonName: string(make([]byte, 65))})
	require.ErrorContains(t, err, "more than 64 bytes")
}
