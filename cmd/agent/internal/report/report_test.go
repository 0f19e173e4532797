package report_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/queue"
	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/report"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

// received is a request to the listener.
type received struct {
	path, commonName, protocol string
	event                      shared.RemoteEvent
}

// listener is a listener with mutual TLS that records requests and answers as configured.
type listener struct {
	*httptest.Server
	mu       sync.Mutex
	received []received
	answer   func(http.ResponseWriter, *http.Request)
	// connections counts accepted connections.
	connections atomic.Int64
}

func listen(t *testing.T, ca *agenttest.Authority, answer func(http.ResponseWriter, *http.Request)) *listener {
	t.Helper()
	l := &listener{answer: answer}
	l.Server = httptest.NewUnstartedServer(l)
	l.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ca.Pair("listener")}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	l.EnableHTTP2 = true
	l.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	l.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			l.connections.Add(1)
		}
	}
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event shared.RemoteEvent
	err := json.NewDecoder(r.Body).Decode(&event)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	l.mu.Lock()
	l.received = append(l.received, received{path: r.URL.Path, commonName: r.TLS.PeerCertificates[0].Subject.CommonName, protocol: r.Proto, event: event})
	l.mu.Unlock()
	if l.answer != nil {
		l.answer(w, r)
	}
}

func (l *listener) all() []received {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]received(nil), l.received...)
}

func (l *listener) address() string { return l.Listener.Addr().String() }

// counts counts the results of events.
type counts struct{ requested, arrived, failed, refused atomic.Int64 }

func (c *counts) Requested() { c.requested.Add(1) }
func (c *counts) Arrived()   { c.arrived.Add(1) }
func (c *counts) Failed()    { c.failed.Add(1) }
func (c *counts) Refused()   { c.refused.Add(1) }

// credentials is a key pair with an authority. Both can be replaced.
type credentials struct {
	mu   sync.Mutex
	pair tls.Certificate
	ca   *agenttest.Authority
}

func (c *credentials) Client() (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.pair}, RootCAs: c.ca.Pool()}, nil
}

func (c *credentials) replace(pair tls.Certificate, ca *agenttest.Authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pair, c.ca = pair, ca
}

func event(name string) queue.Event {
	return queue.Event{Manager: "lifecycle-manager", RemoteEvent: shared.RemoteEvent{
		Watched:    shared.WatchedObject{Namespace: "kyma-system", Name: name},
		WatchedGVK: shared.WatchedGVK{Group: "operator.kyma-project.io", Version: "v1beta2", Kind: "Kyma"},
	}}
}

// send runs a Sender until the test ends.
func send(t *testing.T, client *report.Client) (*queue.Queue, *counts) {
	t.Helper()
	q, c := queue.New(10000), &counts{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report.NewSender(q, client, c, slog.New(slog.NewJSONHandler(io.Discard, nil))).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return q, c
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 10*time.Millisecond)
}

func TestEventsAreSentAsTheContractDefines(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	l := listen(t, ca, nil)
	for contract, path := range map[string]string{report.ContractV1: "/v1/lifecycle-manager/event", report.ContractV2: "/v2/lifecycle-manager/event"} {
		q, c := send(t, report.NewClient(l.address(), contract, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
		q.Add(event("default"))
		eventually(t, func() bool { return q.Len() == 0 })
		all := l.all()
		require.Equal(t, received{path: path, commonName: "runtime", protocol: "HTTP/2.0", event: event("default").RemoteEvent}, all[len(all)-1])
		require.EqualValues(t, 1, c.arrived.Load())
		require.Zero(t, c.failed.Load())
	}
}

func TestAThousandChangesOfOneObjectAreFewRequestsOnOneConnection(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	l := listen(t, ca, func(http.ResponseWriter, *http.Request) { time.Sleep(50 * time.Millisecond) })
	q, _ := send(t, report.NewClient(l.address(), report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
	for range 1000 {
		q.Add(event("default"))
	}
	eventually(t, func() bool { return q.Len() == 0 })
	require.LessOrEqual(t, len(l.all()), 20)
	require.EqualValues(t, 1, l.connections.Load())
}

func TestAListenerThatIsDownGetsTheEventsLater(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	l := listen(t, ca, nil)
	address := l.address()
	l.Close()
	q, c := send(t, report.NewClient(address, report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
	for _, name := range []string{"a", "b", "a"} {
		q.Add(event(name))
	}
	eventually(t, func() bool { return c.failed.Load() > 1 })
	require.Equal(t, 2, q.Len())

	port, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{ca.Pair("listener")}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13})
	require.NoError(t, err)
	up := &listener{}
	again := &http.Server{Handler: up, ReadHeaderTimeout: time.Minute}
	defer func() { _ = again.Close() }()
	go func() { _ = again.Serve(port) }()
	eventually(t, func() bool { return q.Len() == 0 })
	require.EqualValues(t, 2, c.arrived.Load())
	require.Len(t, up.all(), 2)
}

func TestARequestToAHangingListenerTimesOutAndIsRetried(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	hang := make(chan struct{})
	defer close(hang)
	var first atomic.Bool
	l := listen(t, ca, func(_ http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	})
	q, c := send(t, report.NewClient(l.address(), report.ContractV2, 200*time.Millisecond, &credentials{pair: ca.Pair("runtime"), ca: ca}))
	q.Add(event("default"))
	eventually(t, func() bool { return q.Len() == 0 })
	require.EqualValues(t, 1, c.arrived.Load())
	require.Positive(t, c.failed.Load())
}

func TestRefusalsAreRetriedIfThatCanHelp(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	for status, requests := range map[int]int64{
		http.StatusBadRequest: 1, http.StatusMethodNotAllowed: 1, http.StatusRequestEntityTooLarge: 1, http.StatusNotFound: 5,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			l := listen(t, ca, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			q, c := send(t, report.NewClient(l.address(), report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
			q.Add(event("default"))
			eventually(t, func() bool { return q.Len() == 0 })
			require.Equal(t, requests, c.requested.Load())
			require.EqualValues(t, 1, c.refused.Load())
			require.Zero(t, c.arrived.Load())
		})
	}
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			var at [2]time.Time
			l := listen(t, ca, func(w http.ResponseWriter, _ *http.Request) {
				number := asked.Add(1)
				at[min(number, 2)-1] = time.Now()
				if number == 1 {
					w.Header().Set("Retry-After", "2")
					w.WriteHeader(status)
				}
			})
			q, c := send(t, report.NewClient(l.address(), report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
			q.Add(event("default"))
			eventually(t, func() bool { return q.Len() == 0 })
			require.EqualValues(t, 1, c.arrived.Load())
			require.GreaterOrEqual(t, at[1].Sub(at[0]), 2*time.Second)
		})
	}
}

func TestAnotherCertificateEndsARefusal(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	l := listen(t, ca, func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].Subject.CommonName != "new" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	pairs := &credentials{pair: ca.Pair("old"), ca: ca}
	client := report.NewClient(l.address(), report.ContractV2, time.Minute, pairs)
	q, c := send(t, client)
	q.Add(event("default"))
	eventually(t, func() bool { return c.failed.Load() == 1 && q.Len() == 1 })
	pairs.replace(ca.Pair("new"), ca)
	client.Renew()
	begin := time.Now()
	// The pause begins after the failure was counted.
	eventually(t, func() bool {
		q.Wake()
		return q.Len() == 0
	})
	require.Less(t, time.Since(begin), 5*time.Second, "a new certificate must end the pause")
	all := l.all()
	require.Equal(t, "new", all[len(all)-1].commonName)
}

func TestANewAuthorityIsTrustedAtOnce(t *testing.T) {
	ca, strange := agenttest.NewAuthority(t, "ca"), agenttest.NewAuthority(t, "strange")
	l := listen(t, ca, nil)
	pairs := &credentials{pair: ca.Pair("runtime"), ca: strange}
	client := report.NewClient(l.address(), report.ContractV2, time.Minute, pairs)
	q, c := send(t, client)
	q.Add(event("default"))
	eventually(t, func() bool { return c.failed.Load() > 0 })
	require.Empty(t, l.all(), "an untrusted listener must get nothing")
	pairs.replace(ca.Pair("runtime"), ca)
	client.Renew()
	eventually(t, func() bool { return q.Len() == 0 })
	require.EqualValues(t, 1, c.arrived.Load())
}

func TestResponsesAreReadInPartAndRedirectsAreNotFollowed(t *testing.T) {
	ca := agenttest.NewAuthority(t, "ca")
	endless := listen(t, ca, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<10)); err != nil {
				return
			}
		}
	})
	q, c := send(t, report.NewClient(endless.address(), report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
	q.Add(event("default"))
	eventually(t, func() bool { return q.Len() == 0 })
	require.EqualValues(t, 1, c.arrived.Load())

	other := listen(t, ca, nil)
	redirecting := listen(t, ca, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	q, c = send(t, report.NewClient(redirecting.address(), report.ContractV2, time.Minute, &credentials{pair: ca.Pair("runtime"), ca: ca}))
	q.Add(event("default"))
	eventually(t, func() bool { return c.failed.Load() == 1 })
	require.Empty(t, other.all())
}
