// Package report sends events to the listener in the control plane. A Client sends one event; a Sender sends all
// events of a queue and decides which failures to retry.
package report

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/queue"
)

const (
	// maxResponseBytes is how much of a response is read and discarded, so that the connection can be reused.
	maxResponseBytes = 4 << 10
	// maxIdle is the number of idle connections. HTTP/2 needs only one.
	maxIdle         = 2
	idleTimeout     = 90 * time.Second
	dialTimeout     = 5 * time.Second
	maxHeaderBytes  = 16 << 10
	maxRetryAfter   = 5 * time.Minute
	contentTypeJSON = "application/json"
)

// Versions of the path that events are sent to.
const (
	ContractV1 = "v1"
	ContractV2 = "v2"
)

// Credentials provides the TLS configuration for the listener.
type Credentials interface {
	// Client returns the configuration for new connections.
	Client() (*tls.Config, error)
}

// Client sends events to one listener.
type Client struct {
	address, contract string
	timeout           time.Duration
	credentials       Credentials

	mu   sync.Mutex
	http *http.Client
}

// NewClient returns a Client for the listener at host:port. The timeout applies to each request.
func NewClient(address, contract string, timeout time.Duration, credentials Credentials) *Client {
	return &Client{address: address, contract: contract, timeout: timeout, credentials: credentials}
}

// Renew makes the Client use the current credentials for new connections. Running requests keep theirs.
func (c *Client) Renew() {
	c.mu.Lock()
	before := c.http
	c.http = nil
	c.mu.Unlock()
	if before != nil {
		before.CloseIdleConnections()
	}
}

func (c *Client) client() (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil {
		return c.http, nil
	}
	secure, err := c.credentials.Client()
	if err != nil {
		return nil, err
	}
	c.http = &http.Client{
		Timeout: c.timeout,
		// Send events and the client certificate only to the configured listener.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: dialTimeout, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, MaxConnsPerHost: maxSending,
			IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
		},
	}
	return c.http, nil
}

// StatusError is a response of the listener that does not accept the event.
type StatusError struct {
	Status int
	// RetryAfter is the wait that the listener asked for.
	RetryAfter time.Duration
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the listener answered %d %s", e.Status, http.StatusText(e.Status))
}

// Send sends an event. If the listener responds without accepting the event, the error is a StatusError.
func (c *Client) Send(ctx context.Context, event queue.Event) error {
	body, err := json.Marshal(event.RemoteEvent)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	path := shared.EventPath(event.Manager)
	if c.contract == ContractV1 {
		path = shared.EventPathV1(event.Manager)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create a request to the listener: %w", err)
	}
	request.Header.Set("Content-Type", contentTypeJSON)
	client, err := c.client()
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponseBytes)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &StatusError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	return nil
}

// retryAfter parses the Retry-After header: seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(seconds, int(maxRetryAfter.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
