// Package faultproxy is a proxy between a worker under test and all servers that it works with, in the test's own process.
// A [Proxy] counts requests, cuts all connections at a chosen write, or answers a read with a stale response.
package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"go.temporal.io/sdk/activity"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The servers that requests go to.
const (
	ToControlPlane = "control plane"
	ToRemote       = "remote"
)

// ErrCut is the error of every request of a worker that was cut off.
var ErrCut = errors.New("the connection was cut by the test")

// Request is one request as it was counted.
type Request struct {
	// To is ToControlPlane or ToRemote.
	To     string
	Method string
	Path   string
	// Activity is the type of the activity that made the request, Attempt its number among the requests of all
	// attempts of all activities through this proxy; empty outside of one.
	Activity string
	Attempt  string
	// Unserved is true when the server answered that it does not serve such requests at all: then it may be asked
	// repeatedly, until it does.
	Unserved bool
}

// Writes reports whether the request may change something.
func (r Request) Writes() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func (r Request) String() string { return r.To + ": " + r.Method + " " + r.Path }

// Proxy counts requests, cuts all connections at a chosen write, and serves stale reads. The zero value counts, and
// nothing else; use one for one worker.
type Proxy struct {
	// CutAt is the number of the write (from 1, those to control plane and remote cluster together) at which
	// everything ends; 0 for never. With After, that write still reaches its server.
	CutAt int
	After bool
	// StaleAt is the number of the read (from 1, of those that could be stale) that gets the previous answer of the
	// same request; 0 for none.
	StaleAt int

	mu       sync.Mutex
	requests []*Request
	writes   int
	stale    int
	answers  map[string]answer
	ended    chan struct{}
}

// Requests are those so far.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return copied(p.requests)
}

// Take returns the requests so far and forgets them.
func (p *Proxy) Take() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := copied(p.requests)
	p.requests = nil
	return all
}

func copied(requests []*Request) []Request {
	all := make([]Request, len(requests))
	for i, r := range requests {
		all[i] = *r
	}
	return all
}

// StaleReads is the number of reads so far whose answer was not the previous one.
func (p *Proxy) StaleReads() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stale
}

// IsCut is closed when everything has ended.
func (p *Proxy) IsCut() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end()
}

func (p *Proxy) end() chan struct{} {
	if p.ended == nil {
		p.ended = make(chan struct{})
	}
	return p.ended
}

func (p *Proxy) isCut() bool {
	select {
	case <-p.end():
		return true
	default:
		return false
	}
}

// Through wraps the transport to a server.
func (p *Proxy) Through(to string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return p.roundTrip(to, next, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (p *Proxy) roundTrip(to string, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	request := requestOf(to, r)
	send, last := p.admit(&request)
	if !send {
		return nil, ErrCut
	}
	response, err := next.RoundTrip(r)
	if last {
		p.cut()
	}
	switch {
	case err != nil:
		return nil, err
	case p.wasCut():
		// The worker is cut off: it never receives the answer.
		_ = response.Body.Close()
		return nil, ErrCut
	}
	p.note(&request, response)
	if request.Writes() {
		return response, nil
	}
	return p.read(to, r, response)
}

func requestOf(to string, r *http.Request) Request {
	request := Request{To: to, Method: r.Method, Path: r.URL.Path}
	if ctx := r.Context(); activity.IsActivity(ctx) {
		info := activity.GetInfo(ctx)
		request.Activity = info.ActivityType.Name
		request.Attempt = fmt.Sprintf("%s/%s/%d", info.WorkflowExecution.RunID, info.ActivityID, info.Attempt)
	}
	return request
}

// admit counts a request. It reports whether to send it, and whether everything ends with it.
func (p *Proxy) admit(r *Request) (send, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut() {
		return false, false
	}
	p.requests = append(p.requests, r)
	if !r.Writes() {
		return true, false
	}
	p.writes++
	if p.writes != p.CutAt {
		return true, false
	}
	if !p.After {
		close(p.end())
		return false, false
	}
	return true, true
}

// note records what an answer says of its request.
func (p *Proxy) note(r *Request, response *http.Response) {
	// A missing object is answered in JSON or protobuf instead.
	isText := strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain")
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Unserved = response.StatusCode == http.StatusNotFound && isText
}

// Cut ends everything now.
func (p *Proxy) Cut() { p.cut() }

func (p *Proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isCut() {
		close(p.end())
	}
}

func (p *Proxy) wasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isCut()
}

// answer is the response to a read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) respond(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}

// read keeps the answer of a read, and serves the one before it, once, when its turn has come.
func (p *Proxy) read(to string, r *http.Request, response *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	header := response.Header.Clone()
	header.Del("Content-Encoding")
	now := answer{status: response.StatusCode, header: header, body: body}
	key := to + " " + r.Header.Get("Accept") + " " + r.URL.String()

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil {
		p.answers = map[string]answer{}
	}
	before, known := p.answers[key]
	p.answers[key] = now
	if known && !bytes.Equal(before.body, now.body) {
		p.stale++
		if p.stale == p.StaleAt {
			return before.respond(r), nil
		}
	}
	return now.respond(r), nil
}

// Calls is for the connection to Temporal: it ends with everything else, and what waits for an answer ends at once.
func (p *Proxy) Calls() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ended := p.IsCut()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-ended:
				cancel()
			case <-stop:
			}
		}()
		err := invoke(ctx, method, request, reply, c, options...)
		if p.wasCut() {
			// A code that the SDK does not retry.
			return status.Error(codes.PermissionDenied, ErrCut.Error())
		}
		return err
	}
}
