// Package pki makes and reads X.509 certificates in PEM: authorities by NewAuthority, certificates by Authority.Sign,
// bundles by Parse and Bundle. It knows nothing of where they are kept.
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
	// backdated is how long before now a certificate becomes valid.
	backdated = time.Hour
	// maxCommonName is the most bytes that X.509 has for a common name.
	maxCommonName = 64
)

// Pair is a certificate, with those that lead to its authority, and its private key, both in PEM.
type Pair struct{ Certificate, PrivateKey []byte }

// Template says what a certificate is for.
type Template struct {
	CommonName string
	// Names are DNS names and IP addresses.
	Names []string
	// Client is true for what shows the certificate as a client, too.
	Client bool
	// NotBefore is from when on it is valid; an hour ago where it is zero, since clocks of remote clusters differ.
	NotBefore time.Time
	// NotAfter is when it expires; no certificate outlives its authority.
	NotAfter time.Time
}

// NewKey makes a key on the curve P-256.
func NewKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	return key, nil
}

// NewAuthority makes an authority that signs itself.
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

// Sign makes a certificate for a key of whoever shows it.
func (p Pair) Sign(key crypto.Signer, now time.Time, t Template) (Pair, error) {
	authority, err := tls.X509KeyPair(p.Certificate, p.PrivateKey)
	if err != nil {
		// Its text may quote what it read.
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
	serial[0] = serial[0]&0x7f | 0x40 // positive, and as long as the others
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

// Leaf is the certificate of a pair. An error says that it cannot be shown: one of the two cannot be read, or they do not
// belong together.
func (p Pair) Leaf() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(p.Certificate, p.PrivateKey)
	if err != nil {
		return nil, errors.New("certificate and private key cannot be read, or do not belong together")
	}
	return pair.Leaf, nil
}

// Parse are the certificates in a text of PEM. What is no certificate is left out.
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

// Bundle is a text of PEM with each of these certificates once, in an order that depends on nothing else.
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

// Encode is one certificate in PEM.
func Encode(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: certificate.Raw})
}

// Fingerprint is the SHA-256 digest of a certificate in hexadecimal digits.
func Fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// AuthorityOf is the authority among these that a certificate leads to, over the others that come with it; nil where there
// is none. When they expire does not matter.
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
		// The last time at which all that matter can be valid together.
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

// HasNames tells whether a certificate is for exactly these DNS names and IP addresses.
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

// IsRevoked tells whether a list has a serial number: serial numbers are separated by commas, and in hexadecimal as
// `openssl x509 -noout -serial` prints them, with or without what stands before the number, colons and capitals.
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
