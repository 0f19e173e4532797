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
	// attempts is how often a request is sent at most.
	attempts = 4
	// maxWait is the longest pause that a registry may ask for within one fetch. Who asks for more is asked again
	// by the next attempt at the installation, not before then (fault.Error.RetryAfter).
	maxWait = 20 * time.Second
	// maxRetryAfter bounds what a registry may ask for at all.
	maxRetryAfter = 5 * time.Minute
)

// retrying sends requests again that failed with a retryable error: 429 and 5xx, and connections that broke. It waits
// as long as Retry-After says (RFC 9110, section 10.2.3), else twice as long each time.
type retrying struct {
	next http.RoundTripper
	// first is the first pause.
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

// repeated is the request once more; its body was read.
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

// isRetryable tells whether the same request may work in a moment.
func isRetryable(response *http.Response, err error) bool {
	if err == nil {
		return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	}
	var network net.Error
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) && network.Timeout()
}

// retryAfter is how long a registry asks us to wait; 0 where it does not say.
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

// retryAfterOf is how long the registry of a failed fetch asked us to wait; 0 where it did not say.
func retryAfterOf(err error) time.Duration {
	var known *fault.Error
	if !errors.As(err, &known) {
		return 0
	}
	return known.RetryAfter
}
