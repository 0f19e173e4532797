package memfleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Listener serves a fleet over TLS.
type Listener struct {
	// CA is the certificate of who signed the server's, as PEM.
	CA []byte

	fleet    *Fleet
	listener net.Listener
	config   *tls.Config
}

// Listen opens an address such as 127.0.0.1:0. Nothing is served until Serve.
func (f *Fleet) Listen(ctx context.Context, address string) (*Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	host, _, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("the address of the listener: %w", err)
	}
	ca, certificate, err := certificates([]string{host, "localhost"}, time.Now())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	// Session tickets are on by default: clients that come again need no full handshake.
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	return &Listener{CA: ca, fleet: f, listener: listener, config: config}, nil
}

// Address is where it listens.
func (l *Listener) Address() string { return l.listener.Addr().String() }

// URL is where a cluster is served.
func (l *Listener) URL(number int) string { return "https://" + l.Address() + prefix + Name(number) }

// Serve serves until the context ends.
func (l *Listener) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: l.fleet, ConnContext: l.fleet.ConnContext, ConnState: l.fleet.ConnState,
		ReadHeaderTimeout: time.Minute, IdleTimeout: 3 * time.Minute,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 250},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(tls.NewListener(l.listener, l.config)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return group.Wait()
}

// certificates makes an authority and a certificate that it signed.
func certificates(hosts []string, now time.Time) ([]byte, tls.Certificate, error) {
	const validity = 10 * 365 * 24 * time.Hour
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
			KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("make the authority's key: %w", err)
	}
	ca := template("memfleet", now.UnixNano())
	ca.IsCA, ca.KeyUsage = true, ca.KeyUsage|x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("make the authority's certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("make the server's key: %w", err)
	}
	own := template("memfleet server", now.UnixNano()+1)
	own.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			own.IPAddresses = append(own.IPAddresses, ip)
		} else {
			own.DNSNames = append(own.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, own, ca, key.Public(), caKey)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("make the server's certificate: %w", err)
	}
	pemCA := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return pemCA, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
