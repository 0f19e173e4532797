package clusters

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// guard wraps every request to a remote cluster. It limits the number of concurrent requests and the size of response
// bodies, masks our credentials in responses, and aborts everything when the access is replaced. It records when the
// cluster refuses our credentials, or its certificate becomes invalid.
type guard struct {
	next  http.RoundTripper
	limit int64
	// turns holds one entry for each request in progress.
	turns chan struct{}
	// lease ends with ErrAccessChanged when other access replaces this one.
	lease       context.Context
	invalidated *atomic.Bool
	masks       masks
	// validity is the period in which the credentials are valid; clock returns the current time.
	validity Validity
	clock    func() time.Time
	// within returns the timeout of a request by the size of its body.
	within func(size int64) time.Duration
}

// maxWithinRequest is the longest Retry-After that client-go may sleep within one request, because the sleep occupies
// an activity slot. After a longer one, the activity or its workflow retries.
const maxWithinRequest = time.Second

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	unlink := context.AfterFunc(g.lease, func() { cancel(ErrAccessChanged) }) //nolint:contextcheck // the lease outlives every request
	if g.lease.Err() != nil {
		cancel(ErrAccessChanged)
	}
	within := g.within(req.ContentLength)
	ctx, stop := context.WithTimeout(ctx, within)
	end := func() {
		unlink()
		stop()
		cancel(nil)
	}
	select {
	case g.turns <- struct{}{}:
	case <-ctx.Done():
		defer end()
		return nil, context.Cause(ctx)
	}
	done := sync.OnceFunc(func() {
		<-g.turns
		end()
	})
	res, err := g.send(saying(req.WithContext(ctx), within))
	if err != nil {
		err = g.because(err)
		done()
		return nil, err
	}
	if res.Body == nil {
		done()
		return res, nil
	}
	res.Body = &guardedBody{
		ReadCloser: &cappedBody{body: res.Body, remaining: g.limit},
		end:        func(err error) error { return g.end(ctx, err) }, done: done,
	}
	g.masks.apply(res)
	return res, nil
}

// saying adds our timeout to the request, so that the API server ends its work in time too.
func saying(req *http.Request, within time.Duration) *http.Request {
	address := *req.URL
	if address.RawQuery != "" {
		address.RawQuery += "&"
	}
	address.RawQuery += "timeout=" + within.String()
	req.URL = &address
	return req
}

// WrappedRoundTripper lets client-go find the transport to cancel requests on.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

func (g *guard) send(req *http.Request) (*http.Response, error) {
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	res, err := g.next.RoundTrip(req)
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &verify):
		g.invalidated.Store(true)
	case err == nil && res.StatusCode == http.StatusUnauthorized:
		g.invalidated.Store(true)
		if g.validity.At(g.clock()) == Expired {
			_ = res.Body.Close()
			return nil, &expiredError{g.validity}
		}
	}
	if err == nil {
		shortenRetryAfter(res.Header)
	}
	return res, err
}

// because returns the error of a request, or ErrAccessChanged if the access was replaced meanwhile.
func (g *guard) because(err error) error {
	if g.lease.Err() != nil {
		return ErrAccessChanged
	}
	return err
}

// end returns the error that a body ends with. The body of an aborted request may end as if it were complete: the
// server learns of the abort before the connection is closed, and has time to finish a partial response properly.
func (g *guard) end(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		deadline, limited := ctx.Deadline()
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case limited && !time.Now().Before(deadline):
			err = context.DeadlineExceeded
		}
	}
	return g.because(err)
}

func shortenRetryAfter(header http.Header) {
	const name = "Retry-After"
	seconds, err := strconv.Atoi(header.Get(name))
	if err != nil || time.Duration(seconds)*time.Second > maxWithinRequest {
		header.Del(name)
	}
}

// guardedBody is a response body. Its request counts as in progress until the body was read or closed.
type guardedBody struct {
	io.ReadCloser
	end  func(error) error
	done func()
	// ended is the error that the body ended with, for further reads.
	ended error
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended = b.end(err)
		b.done()
	}
	return n, b.ended
}

func (b *guardedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
