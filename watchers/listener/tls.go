package listener

import (
	"crypto/tls"
	"errors"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// errNoCertificate breaks off handshakes before the listener has a certificate.
var errNoCertificate = errors.New("the listener has no certificate yet")

// secure is the configuration of TLS with one certificate.
type secure struct {
	version string
	config  *tls.Config
}

// tlsConfig is nil where a gateway ends TLS.
//
// The handshake asks for the client's certificate, and takes any: it proves that the client has the key. Whether an
// authority of now vouches for it is checked with each request (identity.go). So a refusal is an answer, which agents log
// and people understand, and an authority that leaves the bundle is out for connections that are open as well.
func (l *Listener) tlsConfig() *tls.Config {
	if l.options.Routing != desired.RoutingDirect {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: l.configForClient}
}

// configForClient has each handshake use the certificate of now. Connections that are open go on with theirs.
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
		// A session that is resumed would go on with the certificates of its first handshake.
		SessionTicketsDisabled: true,
	}}
	l.secure.Store(made)
	return made.config, nil
}
