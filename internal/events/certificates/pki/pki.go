// Package pki creates and reads X.509 certificates in PEM: NewAuthority creates authorities, Pair.Sign creates
// certificates, and Parse and Bundle read and write bundles. It does not know where they are stored.
package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
	// backdated is how long before its creation a certificate becomes valid.
	backdated = time.Hour
	// maxCommonName is the maximum length of a common name in X.509, in bytes.
	maxCommonName = 64
)

// Pair is a certificate, followed by its intermediate certificates, and its private key. Both are in PEM.
type Pair struct{ Certificate, PrivateKey []byte }

// Template describes a certificate to sign.
type Template struct {
	CommonName string
	// Names are DNS names and IP addresses.
	Names []string
	// Client is true if the certificate is also for a client.
	Client bool
	// NotBefore is when the certificate becomes valid. Zero means an hour ago, because clocks of remote clusters differ.
	NotBefore time.Time
	// NotAfter is when the certificate expires. No certificate outlives its authority.
	NotAfter time.Time
}

// NewKey creates a key on the curve P-256.
func NewKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	return key, nil
}

// NewAuthority creates a self-signed authority.
func NewAuthority(name string, now, notAfter time.Time) (Pair, error) {
	key, err := NewKey()
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdated), NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	return create(template, template, key, key)
}

// Sign creates a certificate for a key.
func (p Pair) Sign(key crypto.Signer, now time.Time, t Template) (Pair, error) {
	authority, err := tls.X509KeyPair(p.Certificate, p.PrivateKey)
	if err != nil {
		// The error of tls.X509KeyPair may quote its input.
		return Pair{}, errors.New("the authority's certificate and private key cannot be read, or do not belong together")
	}
	signer, signs := authority.PrivateKey.(crypto.Signer)
	if !signs {
		return Pair{}, errors.New("the authority's private key cannot sign")
	}
	if len(t.CommonName) > maxCommonName {
		return Pair{}, fmt.Errorf("the common name %q has more than %d bytes", t.CommonName, maxCommonName)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: t.CommonName}, NotBefore: now.Add(-backdated), NotAfter: t.NotAfter,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if !t.NotBefore.IsZero() {
		template.NotBefore = t.NotBefore
	}
	if authority.Leaf.NotAfter.Before(template.NotAfter) {
		template.NotAfter = authority.Leaf.NotAfter
	}
	if t.Client {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	for _, name := range t.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return create(template, authority.Leaf, key, signer)
}

func create(template, parent *x509.Certificate, key, signer crypto.Signer) (Pair, error) {
	serial := make([]byte, 16)
	if _, err := rand.Read(serial); err != nil {
		return Pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, and always of the same length
	template.SerialNumber = new(big.Int).SetBytes(serial)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, errors.New("the private key cannot be encoded")
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der}),
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: private}),
	}, nil
}

// Leaf returns the certificate of a pair. It returns an error if the certificate or the key cannot be read, or if
// they do not belong together.
func (p Pair) Leaf() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(p.Certificate, p.PrivateKey)
	if err != nil {
		return nil, errors.New("certificate and private key cannot be read, or do not belong together")
	}
	return pair.Leaf, nil
}

// Parse returns the certificates in a PEM text. It skips everything else.
func Parse(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return all
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == blockCertificate {
			all = append(all, certificate)
		}
		text = rest
	}
}

// Bundle returns a PEM text with each of these certificates once, in an order that does not depend on the order of
// the arguments.
func Bundle(certificates ...*x509.Certificate) []byte {
	all := slices.Clone(certificates)
	slices.SortFunc(all, func(a, b *x509.Certificate) int { return strings.Compare(Fingerprint(a), Fingerprint(b)) })
	var text bytes.Buffer
	for i, each := range all {
		if i == 0 || !each.Equal(all[i-1]) {
			text.Write(Encode(each))
		}
	}
	return text.Bytes()
}

// Encode returns one certificate in PEM.
func Encode(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: certificate.Raw})
}

// Fingerprint returns the SHA-256 digest of a certificate in hexadecimal.
func Fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// AuthorityOf returns the authority that a certificate leads to, over the intermediate certificates in its chain; nil
// if there is none. It ignores expiry.
func AuthorityOf(chain []byte, authorities []*x509.Certificate) *x509.Certificate {
	certificates := Parse(chain)
	if len(certificates) == 0 {
		return nil
	}
	for _, authority := range authorities {
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(authority)
		for _, each := range certificates[1:] {
			between.AddCert(each)
		}
		// This is the last time at which all certificates of the chain can be valid together.
		at := certificates[0].NotAfter
		for _, each := range append(certificates[1:], authority) {
			if each.NotAfter.Before(at) {
				at = each.NotAfter
			}
		}
		_, err := certificates[0].Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		if err == nil {
			return authority
		}
	}
	return nil
}

// HasNames reports whether a certificate is for exactly these DNS names and IP addresses.
func HasNames(certificate *x509.Certificate, names []string) bool {
	has := slices.Clone(certificate.DNSNames)
	has = append(has, lists.Map(certificate.IPAddresses, func(ip net.IP) string { return ip.String() })...)
	wanted := make([]string, 0, len(names))
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			name = ip.String()
		}
		wanted = append(wanted, name)
	}
	slices.Sort(has)
	slices.Sort(wanted)
	return slices.Equal(slices.Compact(has), slices.Compact(wanted))
}

// IsRevoked reports whether a list contains a serial number. Serial numbers in the list are separated by commas, and
// in hexadecimal as printed by `openssl x509 -noout -serial`. The prefix "serial=", colons and case do not matter.
func IsRevoked(serial *big.Int, list string) bool {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(item)), "serial=")
		listed, ok := new(big.Int).SetString(strings.TrimPrefix(strings.ReplaceAll(item, ":", ""), "0x"), 16)
		if ok && serial != nil && listed.Cmp(serial) == 0 {
			return true
		}
	}
	return false
}
