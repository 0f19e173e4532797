package artifacts

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// attempts is the greatest number of times that a request is sent.
	attempts = 4
	// maxWait is the longest delay within one fetch that a registry may ask for. If it asks for more, the next attempt
	// at the installation sends the next request, and not before that delay is over (fault.Error.RetryAfter).
	maxWait = 20 * time.Second
	// maxRetryAfter bounds the delay between attempts at the installation that a registry may ask for.
	maxRetryAfter = 5 * time.Minute
)

// retrying repeats requests after retryable errors: 429, 5xx and broken connections. The delay is the response's
// Retry-After (RFC 9110, section 10.2.3), or else doubles each time.
type retrying struct {
	next http.RoundTripper
	// first is the first delay.
	first time.Duration
	clock func() time.Time
}

func (r *retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	for try, pause := 1, r.first; ; try, pause = try+1, pause*2 {
		response, err := r.next.RoundTrip(request)
		if try == attempts || !isRetryable(response, err) || hasBody(request) && request.GetBody == nil {
			return response, err
		}
		wait := pause + rand.N(pause/5+1) //nolint:gosec // spreads requests, keeps no secret
		if asked := retryAfter(response, r.clock()); asked > 0 {
			wait = asked
		}
		deadline, bounded := ctx.Deadline()
		if wait > maxWait || bounded && time.Until(deadline) < wait {
			return response, err
		}
		if response != nil {
			_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
			_ = response.Body.Close()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		if request, err = repeated(request); err != nil {
			return nil, err
		}
	}
}

func hasBody(request *http.Request) bool { return request.Body != nil && request.Body != http.NoBody }

// repeated returns a copy of the request with a new body, because the old body was read.
func repeated(request *http.Request) (*http.Request, error) {
	if !hasBody(request) {
		return request, nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	once := request.Clone(request.Context())
	once.Body = body
	return once, nil
}

// isRetryable reports whether the same request may succeed in a moment.
func isRetryable(response *http.Response, err error) bool {
	if err == nil {
		return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	}
	var network net.Error
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) && network.Timeout()
}

// retryAfter returns the delay that a registry asks for, or 0.
func retryAfter(response *http.Response, now time.Time) time.Duration {
	if response == nil {
		return 0
	}
	value := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter) //nolint:gosec // fits: 31 bits
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// retryAfterOf returns the delay that the registry asked for in a failed fetch, or 0.
func retryAfterOf(err error) time.Duration {
	var known *fault.Error
	if !errors.As(err, &known) {
		return 0
	}
	return known.RetryAfter
}
