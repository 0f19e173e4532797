package listener

import (
	"crypto/tls"
	"errors"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// errNoCertificate ends handshakes before the listener has a certificate.
var errNoCertificate = errors.New("the listener has no certificate yet")

// secure is the TLS configuration for one certificate.
type secure struct {
	version string
	config  *tls.Config
}

// tlsConfig returns nil if a gateway terminates TLS.
//
// The handshake requests a client certificate and accepts any: it proves only that the client has the key. Each request
// checks that a present authority issued the certificate (identity.go). A refusal is thus an HTTP answer, which agents
// log and people understand. An authority that was removed is no longer trusted on open connections either.
func (l *Listener) tlsConfig() *tls.Config {
	if l.options.Routing != desired.RoutingDirect {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: l.configForClient}
}

// configForClient lets each handshake use the present certificate. Open connections keep theirs.
func (l *Listener) configForClient(*tls.ClientHelloInfo) (*tls.Config, error) {
	now, there := l.options.Credentials.Current()
	if !there || len(now.Certificate.Certificate) == 0 {
		l.metrics.Received.WithLabelValues(resultNotReady).Inc()
		l.log.say(errNoCertificate, "agents cannot connect to the listener")
		return nil, errNoCertificate
	}
	if before := l.secure.Load(); before != nil && before.version == now.Version {
		return before.config, nil
	}
	made := &secure{version: now.Version, config: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{now.Certificate}, ClientAuth: tls.RequestClientCert,
		NextProtos: []string{"h2", "http/1.1"},
		// A resumed session would continue with the certificates of its first handshake.
		SessionTicketsDisabled: true,
	}}
	l.secure.Store(made)
	return made.config, nil
}
