// Package report sends events to the listener in the control plane.
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
	// maxResponseBytes is what is read of a response, which says nothing that is needed, so that its connection can be used again.
	maxResponseBytes = 4 << 10
	// maxIdle is how many connections are kept. One is enough for HTTP/2.
	maxIdle         = 2
	idleTimeout     = 90 * time.Second
	dialTimeout     = 5 * time.Second
	maxHeaderBytes  = 16 << 10
	maxRetryAfter   = 5 * time.Minute
	contentTypeJSON = "application/json"
)

// Contracts are the versions of the path that events are sent to.
const (
	ContractV1 = "v1"
	ContractV2 = "v2"
)

// Credentials are what the listener is shown and checked by.
type Credentials interface {
	// Client is for connections from now on.
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

// NewClient makes a Client for the listener at host:port, whose requests take no longer than timeout.
func NewClient(address, contract string, timeout time.Duration, credentials Credentials) *Client {
	return &Client{address: address, contract: contract, timeout: timeout, credentials: credentials}
}

// Renew makes all connections from now on with the credentials of now. Requests on their way end on theirs.
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
		// An event and its certificate are for the listener that is configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: dialTimeout, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, MaxConnsPerHost: maxSending,
			IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
		},
	}
	return c.http, nil
}

// StatusError is an answer of the listener's other than that it took the event.
type StatusError struct {
	Status int
	// RetryAfter is what the listener asked to wait.
	RetryAfter time.Duration
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the listener answered %d %s", e.Status, http.StatusText(e.Status))
}

// Send sends an event. Where the listener answers that it did not take it, the error is a StatusError.
func (c *Client) Send(ctx context.Context, event queue.Event) error {
	body, err := json.Marshal(event.RemoteEvent)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	path := shared.EventPath(event.Manager)
	if c.contract == ContractV1 {
		path = shared.EventPathV1(event.Manager)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request to the listener: %w", err)
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

// retryAfter reads seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(seconds, int(maxRetryAfter.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
