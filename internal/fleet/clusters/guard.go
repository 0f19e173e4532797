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

// guard is around every request to a remote cluster. It keeps the number of requests under way within the limit,
// caps response bodies, takes our credentials out of what the cluster answers, and stops everything when the
// access was replaced. It notes when the cluster no longer accepts our credentials or its certificate no longer
// fits.
type guard struct {
	next  http.RoundTripper
	limit int64
	// turns holds one entry for each request under way.
	turns chan struct{}
	// lease ends, with ErrAccessChanged, when other access took the place of this one.
	lease       context.Context
	invalidated *atomic.Bool
	masks       masks
	// validity is for how long the credentials are valid by themselves, clock what time it is.
	validity Validity
	clock    func() time.Time
	// within is for how long a request may take, by the size of what it sends.
	within func(size int64) time.Duration
}

// maxWithinRequest is the longest Retry-After that client-go may sleep through within one request: it would hold
// the slot of an activity. What takes longer is tried again by the activity or its workflow.
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

// saying tells the API server for how long its answer is waited for, so that it ends its work as well.
func saying(req *http.Request, within time.Duration) *http.Request {
	address := *req.URL
	if address.RawQuery != "" {
		address.RawQuery += "&"
	}
	address.RawQuery += "timeout=" + within.String()
	req.URL = &address
	return req
}

// WrappedRoundTripper lets client-go find the transport that it cancels requests of.
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

// because is the error of a request: that the access was replaced meanwhile, if it was.
func (g *guard) because(err error) error {
	if g.lease.Err() != nil {
		return ErrAccessChanged
	}
	return err
}

// end is what a body ended with. A request that is aborted may end its body as if that was complete: the server hears
// of the end before the connection is closed, and has time to finish an answer that it only began.
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

// guardedBody is a response body whose request is under way until it was read or closed.
type guardedBody struct {
	io.ReadCloser
	end  func(error) error
	done func()
	// ended is what the body ended with, for who reads on.
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
