// Package analysis asks Prometheus the queries of rollouts. Whom it asks is a setting of the instance, and nothing that a
// RolloutPolicy says leads elsewhere: redirects are not followed. What an answer means is a matter of package rollout.
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

// DefaultTimeout is how long one query may take.
const DefaultTimeout = 10 * time.Second

const (
	// maxAnswer and maxToken are how much is read of an answer and of a token file, in bytes.
	maxAnswer, maxToken = 1 << 20, 16 << 10
)

// Options say which Prometheus is asked.
type Options struct {
	// URL is where its API begins, without /api/v1.
	URL string
	// TokenFile, where set, has a bearer token, which is read for each query.
	TokenFile string
	// Timeout is DefaultTimeout by default.
	Timeout time.Duration
}

// Client asks one Prometheus.
type Client struct {
	api     v1.API
	timeout time.Duration
}

// New makes a client. It makes no request.
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

// Check refuses what is no address of a server.
func Check(address string) error {
	parsed, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it cannot be read as a URL") // the error repeats it, with what may be a password
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

// Query asks a query for its present value: none is that there is no data. The error says what is wrong in words that are for
// people, and without the address; it is that of the context where the caller does not wait any more.
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
		return nil, fmt.Errorf("the query gives a %s, and not a scalar or an instant vector", value.Type())
	}
}

func samples(vector model.Vector) ([]rollout.Sample, error) {
	all := make([]rollout.Sample, len(vector))
	for i, sample := range vector {
		if sample.Histogram != nil {
			return nil, errors.New("the query gives a histogram, and not a number")
		}
		all[i].Value = float64(sample.Value)
		if len(sample.Metric) > 0 {
			all[i].Series = sample.Metric.String()
		}
	}
	return all, nil
}

// problem is an error for people.
func problem(err error) error {
	var refused *v1.Error
	var request *url.Error
	switch {
	case errors.As(err, &refused) && (refused.Type == v1.ErrBadData || refused.Type == v1.ErrExec):
		return fmt.Errorf("the query is refused by Prometheus: %s", refused.Msg)
	case errors.As(err, &refused):
		return fmt.Errorf("no answer from Prometheus: %s", refused.Msg)
	case errors.As(err, &request):
		return fmt.Errorf("no answer from Prometheus: %w", request.Err)
	case errors.Is(err, errTooLong):
		return fmt.Errorf("no answer from Prometheus: %w", err)
	default:
		return errors.New("no answer from Prometheus that can be read as a scalar or an instant vector") // the error has parts of it
	}
}

// transport adds the token to requests, and bounds answers.
type transport struct {
	next      http.RoundTripper
	tokenFile string
}

// RoundTrip does one request.
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
		return "", errors.New("the file with its token has none")
	}
	return token, nil
}

// bounded is a body that ends with an error where it is too long.
type bounded struct {
	io.ReadCloser

	left int
}

// Read reads.
func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
