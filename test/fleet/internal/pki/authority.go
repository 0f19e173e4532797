// Package pki makes the certificates of a fleet's clusters.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is long enough for every fleet; fleets are thrown away before.
const validity = 10 * 365 * 24 * time.Hour

// Pair is a certificate with its private key, both as PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Authority signs certificates.
type Authority struct {
	// Pair is the authority's own.
	Pair

	certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	template, err := newTemplate(pkix.Name{CommonName: name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of authority %s: %w", name, err)
	}
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("certificate of authority %s: %w", name, err)
	}
	block, _ := pem.Decode(pair.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate of authority %s: %w", name, err)
	}
	return &Authority{Pair: pair, certificate: certificate, key: key}, nil
}

// Server makes the certificate of a server that is reached under the given DNS
// names and IP addresses.
func (a *Authority) Server(name string, hosts []string, now time.Time) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: name}, now)
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	return a.issue(template)
}

// Client makes the certificate of a client. Kubernetes takes the name as the
// user and the organisations as the user's groups.
func (a *Authority) Client(name string, organisations []string, now time.Time) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: name, Organization: organisations}, now)
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate the key of %s: %w", name, err)
	}
	pair, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return pair, nil
}

// NewKey makes a key for signing tokens and the public key to check them, both
// as PEM.
func NewKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a signing key: %w", err)
	}
	private, err = encodeKey(key)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encode a public key: %w", err)
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

func newTemplate(subject pkix.Name, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		// Clocks step back now and then.
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}, nil
}

func sign(template, parent *x509.Certificate, key, signer crypto.Signer) (Pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign: %w", err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         encoded,
	}, nil
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("encode a private key of type %T", key)
	}
	// Kubernetes reads keys for tokens in this form only (SEC 1).
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
