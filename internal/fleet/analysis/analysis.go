// Package analysis sends the queries of ModuleRollouts to Prometheus. The instance's settings choose the server, and
// nothing in a RolloutPolicy can lead to another one: redirects are not followed. Package internal/model/rollout
// interprets the answers.
package analysis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// DefaultTimeout is the default timeout of one query.
const DefaultTimeout = 10 * time.Second

const (
	// maxAnswer and maxToken are the greatest sizes of an answer and of a token file, in bytes.
	maxAnswer, maxToken = 1 << 20, 16 << 10
)

// Options configures a Client.
type Options struct {
	// URL is the base URL of Prometheus's API, without /api/v1.
	URL string
	// TokenFile is a file with a bearer token. The client reads the file for each query. It may be empty.
	TokenFile string
	// Timeout is the timeout of one query; DefaultTimeout by default.
	Timeout time.Duration
}

// Client queries one Prometheus.
type Client struct {
	api     v1.API
	timeout time.Duration
}

// New returns a Client. It sends no request.
func New(o Options) (*Client, error) {
	if err := Check(o.URL); err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	client, err := api.NewClient(api.Config{Address: o.URL, Client: &http.Client{
		Transport: transport{
			next:      &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute},
			tokenFile: o.TokenFile,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}})
	if err != nil {
		return nil, fmt.Errorf("prepare requests to Prometheus: %w", err)
	}
	return &Client{api: v1.NewAPI(client), timeout: o.Timeout}, nil
}

// Check returns an error if the address is not the URL of a server.
func Check(address string) error {
	parsed, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it cannot be read as a URL") // the parser's error quotes the URL, which may contain a password
	case parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return errors.New("it must be a URL such as http://prometheus.monitoring:9090")
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return errors.New("it must have no credentials, query or fragment")
	default:
		return nil
	}
}

var (
	errRedirect = errors.New("it answers with a redirect, which is not followed")
	errTooLong  = fmt.Errorf("its answer is longer than %d KiB", maxAnswer>>10)
)

// Query returns the current values of a query, or none if there is no data. The error is for people and does not
// contain the address. If ctx is done, Query returns the error of ctx.
func (c *Client) Query(ctx context.Context, query string) ([]rollout.Sample, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	value, _, err := c.api.Query(limited, query, time.Time{}, v1.WithTimeout(c.timeout))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && limited.Err() != nil:
		return nil, fmt.Errorf("no answer from Prometheus within %s", c.timeout)
	case err != nil:
		return nil, problem(err)
	}
	switch value := value.(type) {
	case *model.Scalar:
		return []rollout.Sample{{Value: float64(value.Value)}}, nil
	case model.Vector:
		return samples(value)
	default:
		return nil, fmt.Errorf("the query returns a %s instead of a scalar or an instant vector", value.Type())
	}
}

func samples(vector model.Vector) ([]rollout.Sample, error) {
	all := make([]rollout.Sample, len(vector))
	for i, sample := range vector {
		if sample.Histogram != nil {
			return nil, errors.New("the query returns a histogram instead of a number")
		}
		all[i].Value = float64(sample.Value)
		if len(sample.Metric) > 0 {
			all[i].Series = sample.Metric.String()
		}
	}
	return all, nil
}

// problem returns an error for people.
func problem(err error) error {
	var refused *v1.Error
	var request *url.Error
	switch {
	case errors.As(err, &refused) && (refused.Type == v1.ErrBadData || refused.Type == v1.ErrExec):
		return fmt.Errorf("query refused by Prometheus: %s", refused.Msg)
	case errors.As(err, &refused):
		return fmt.Errorf("no answer from Prometheus: %s", refused.Msg)
	case errors.As(err, &request):
		return fmt.Errorf("no answer from Prometheus: %w", request.Err)
	case errors.Is(err, errTooLong):
		return fmt.Errorf("no answer from Prometheus: %w", err)
	default:
		return errors.New("the answer of Prometheus is not a scalar or an instant vector") // the original error quotes parts of the answer
	}
}

// transport adds the token to requests and limits the size of answers.
type transport struct {
	next      http.RoundTripper
	tokenFile string
}

// RoundTrip sends one request.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.tokenFile != "" {
		token, err := readToken(t.tokenFile)
		if err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := t.next.RoundTrip(request)
	if err == nil {
		response.Body = &bounded{ReadCloser: response.Body, left: maxAnswer}
	}
	return response, err
}

func readToken(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read its token: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("read its token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return "", errors.New("its token file contains no token")
	}
	return token, nil
}

// bounded is a body that ends with an error if it is too long.
type bounded struct {
	io.ReadCloser

	left int
}

// Read implements io.Reader.
func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
