package clusters

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// idleConnTimeout is when an idle connection is closed. Each one holds a socket and some 130 KiB of memory for TLS
	// and HTTP/2, and a steady cluster needs it for only a second in each resync interval. The requests of an
	// installation follow each other more quickly.
	idleConnTimeout = 20 * time.Second
	// maxIdleConns is the number of idle connections per cluster. HTTP/2 needs one.
	maxIdleConns = 2
)

// newTransport makes the only transport of a remote cluster. It does not use client-go's cache, which would keep the
// transport forever.
func newTransport(config *rest.Config, limits Limits) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the TLS configuration: %w", err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	// The next pass of the sweep resumes the TLS session on a new connection.
	tlsConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dialer := &net.Dialer{Timeout: limits.DialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: limits.DialTimeout,
		IdleConnTimeout:     idleConnTimeout,
		MaxIdleConnsPerHost: maxIdleConns,
		DisableCompression:  config.DisableCompression,
		ForceAttemptHTTP2:   true,
		// Pings detect a dead connection before every request times out on it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}, nil
}

// cappedBody fails with ErrResponseTooLarge instead of returning more bytes than the limit.
type cappedBody struct {
	body      io.ReadCloser
	remaining int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.remaining < 0 {
		return 0, ErrResponseTooLarge
	}
	// One additional byte distinguishes a body that ends at the limit from a longer one.
	if int64(len(p)) > b.remaining+1 {
		p = p[:b.remaining+1]
	}
	n, err := b.body.Read(p)
	b.remaining -= int64(n)
	if b.remaining < 0 {
		return n - 1, ErrResponseTooLarge
	}
	return n, err
}

func (b *cappedBody) Close() error { return b.body.Close() }

// refuseRedirects prevents a cluster from sending our credentials and requests elsewhere.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func httpProxy(proxy *url.URL) func(*http.Request) (*url.URL, error) { return http.ProxyURL(proxy) }
