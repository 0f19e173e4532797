package harness

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
	// attempts of all activities of this wire; empty outside of one.
	Activity string
	Attempt  string
	// Unserved is true when the server answered that it does not serve such requests at all: then it may be asked
	// again and again, until it does.
	Unserved bool
}

// Writes tells whether the request may change something.
func (r Request) Writes() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func (r Request) String() string { return r.To + ": " + r.Method + " " + r.Path }

// Wire lies between a worker under test and all servers that it works with: it counts requests, cuts everything off at
// a chosen write, and serves stale reads. The zero value counts, and nothing else; use one for one worker.
type Wire struct {
	// CutAt is the number of the write (from 1, those to control plane and remote cluster together) at which
	// everything ends; 0 for never. With After, that write still reaches its server.
	CutAt int
	After bool
	// StaleAt is the number of the read (from 1, of those that could be stale) that is answered with what the
	// same request was answered the time before; 0 for none.
	StaleAt int

	mu       sync.Mutex
	requests []*Request
	writes   int
	stale    int
	answers  map[string]answer
	ended    chan struct{}
}

// Requests are those so far.
func (w *Wire) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return copied(w.requests)
}

// Take returns the requests so far and forgets them.
func (w *Wire) Take() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := copied(w.requests)
	w.requests = nil
	return all
}

func copied(requests []*Request) []Request {
	all := make([]Request, len(requests))
	for i, r := range requests {
		all[i] = *r
	}
	return all
}

// StaleReads is the number of reads so far that were answered otherwise than the time before.
func (w *Wire) StaleReads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stale
}

// IsCut is closed when everything has ended.
func (w *Wire) IsCut() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end()
}

func (w *Wire) end() chan struct{} {
	if w.ended == nil {
		w.ended = make(chan struct{})
	}
	return w.ended
}

func (w *Wire) isCut() bool {
	select {
	case <-w.end():
		return true
	default:
		return false
	}
}

// Through wraps the transport to a server.
func (w *Wire) Through(to string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return w.roundTrip(to, next, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *Wire) roundTrip(to string, next http.RoundTripper, r *http.Request) (*http.Response, error) {
	request := requestOf(to, r)
	send, last := w.admit(&request)
	if !send {
		return nil, ErrCut
	}
	response, err := next.RoundTrip(r)
	if last {
		w.cut()
	}
	switch {
	case err != nil:
		return nil, err
	case w.wasCut():
		// Whatever the server says, nobody is there any more to hear it.
		_ = response.Body.Close()
		return nil, ErrCut
	}
	w.note(&request, response)
	if request.Writes() {
		return response, nil
	}
	return w.read(to, r, response)
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

// admit counts a request. It tells whether to send it, and whether everything ends with it.
func (w *Wire) admit(r *Request) (send, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut() {
		return false, false
	}
	w.requests = append(w.requests, r)
	if !r.Writes() {
		return true, false
	}
	w.writes++
	if w.writes != w.CutAt {
		return true, false
	}
	if !w.After {
		close(w.end())
		return false, false
	}
	return true, true
}

// note notes what an answer says of its request.
func (w *Wire) note(r *Request, response *http.Response) {
	// An object that is not there is said so in JSON or protobuf.
	isText := strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain")
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Unserved = response.StatusCode == http.StatusNotFound && isText
}

// Cut ends everything now.
func (w *Wire) Cut() { w.cut() }

func (w *Wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isCut() {
		close(w.end())
	}
}

func (w *Wire) wasCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isCut()
}

// answer is what a read was answered.
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

// read keeps what a read is answered, and serves what it was answered before, once, when its turn has come.
func (w *Wire) read(to string, r *http.Request, response *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	header := response.Header.Clone()
	header.Del("Content-Encoding")
	now := answer{status: response.StatusCode, header: header, body: body}
	key := to + " " + r.Header.Get("Accept") + " " + r.URL.String()

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers == nil {
		w.answers = map[string]answer{}
	}
	before, known := w.answers[key]
	w.answers[key] = now
	if known && !bytes.Equal(before.body, now.body) {
		w.stale++
		if w.stale == w.StaleAt {
			return before.respond(r), nil
		}
	}
	return now.respond(r), nil
}

// Calls is for the connection to Temporal: it ends with everything else, and what waits for an answer ends at once.
func (w *Wire) Calls() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ended := w.IsCut()
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
		if w.wasCut() {
			// An error that nobody tries to get over.
			return status.Error(codes.PermissionDenied, ErrCut.Error())
		}
		return err
	}
}
