package clusters

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// answers returns a handler that answers every request with one status, and quotes the request's credentials.
func answers(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"you sent %s"}`, code, r.Header.Get("Authorization"))
	}
}

// blackHole accepts connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
		}
	}()
	return "https://" + listener.Addr().String()
}

// hangs returns a handler that sends this beginning of a response, and then nothing.
func hangs(t *testing.T, begin string) http.HandlerFunc {
	t.Helper()
	leave := make(chan struct{})
	t.Cleanup(func() { close(leave) })
	return func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(begin))
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-leave:
		case <-r.Context().Done():
		}
	}
}

// Every way in which a cluster can be unreachable has its own reason, ends within the limits, and does not reveal our
// credentials.
func TestEachKindOfUnreachableClusterHasItsReason(t *testing.T) {
	t.Parallel()
	server := func(t *testing.T, handler http.HandlerFunc) []byte { return kubeconfigOf(t, newServer(t, handler)) }
	at := func(t *testing.T, change func(string) string) []byte {
		fine := newServer(t, answers(http.StatusOK))
		return []byte(strings.ReplaceAll(string(kubeconfigOf(t, fine)), fine.URL, change(fine.URL)))
	}
	tests := []struct {
		name   string
		access func(t *testing.T) []byte
		reason string
	}{
		{"no server listens", func(t *testing.T) []byte {
			// No other process can listen on this port, unlike on the port of a closed server.
			return at(t, func(string) string { return "https://127.0.0.1:1" })
		}, ReasonUnreachableNetwork},
		{"it accepts connections and never answers", func(t *testing.T) []byte {
			return at(t, func(string) string { return blackHole(t) })
		}, ReasonUnreachableTimeout},
		{"it takes requests and never answers", func(t *testing.T) []byte { return server(t, hangs(t, "")) }, ReasonUnreachableTimeout},
		{"it begins to answer and never ends", func(t *testing.T) []byte { return server(t, hangs(t, `{"kind":`)) }, ReasonUnreachableTimeout},
		{"it is another server than before", func(t *testing.T) []byte {
			config, err := clientcmd.Load(server(t, answers(http.StatusOK)))
			require.NoError(t, err)
			config.Clusters["c"].CertificateAuthorityData = otherAuthority(t)
			raw, err := clientcmd.Write(*config)
			require.NoError(t, err)
			return raw
		}, ReasonUnreachableTLS},
		{"its certificate is for another name", func(t *testing.T) []byte {
			return at(t, func(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) })
		}, ReasonUnreachableTLS},
		{"it does not speak TLS", func(t *testing.T) []byte {
			plain := httptest.NewServer(answers(http.StatusOK))
			t.Cleanup(plain.Close)
			return at(t, func(string) string { return strings.Replace(plain.URL, "http:", "https:", 1) })
		}, ReasonUnreachableTLS},
		{"it does not know us", func(t *testing.T) []byte { return server(t, answers(http.StatusUnauthorized)) }, ReasonUnreachableUnauthorized},
		{"it forbids everything", func(t *testing.T) []byte { return server(t, answers(http.StatusForbidden)) }, ReasonUnreachableForbidden},
		{"it fails", func(t *testing.T) []byte { return server(t, answers(http.StatusInternalServerError)) }, ReasonUnreachableServerFailed},
		{"it is overloaded", func(t *testing.T) []byte { return server(t, answers(http.StatusServiceUnavailable)) }, ReasonUnreachableServerFailed},
		{"its gateway cannot find it", func(t *testing.T) []byte { return server(t, answers(http.StatusBadGateway)) }, ReasonUnreachableServerFailed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// On a busy machine, other faults must not turn into timeouts.
			limit := time.Minute
			if test.reason == ReasonUnreachableTimeout {
				limit = time.Second
			}
			registry, cp := newRegistry(t, func(o *Options) {
				o.Limits = Limits{DialTimeout: limit, RequestTimeout: limit}
			})
			cp.set(accessSecret("ns", "a", "a", "1", test.access(t)))
			cluster, err := registry.ForKyma(t.Context(), "ns", "a")
			require.NoError(t, err)
			err = listOnce(t.Context(), cluster)
			require.Error(t, err)
			f := fault.OfPersistent(Classify(err))
			require.Equal(t, fault.Unreachable, f.Kind, err)
			require.Equal(t, test.reason, f.Reason, err)
			require.NotContains(t, f.Message, secretToken, "a cluster's response must not reveal our credentials")
		})
	}
}

// ending is a transport with responses that end, as if they were complete, after the function returns.
type ending func()

func (e ending) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(e)}, nil
}

func (e ending) Read([]byte) (int, error) { e(); return 0, io.EOF }

// TLS announces the end of a connection. A server that receives the announcement has time to end a partial response
// properly. The client must not mistake that part for the whole response.
func TestAnAbortedResponseIsNotMistakenForACompleteOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(giveUp context.CancelFunc, replace context.CancelCauseFunc)
		within  time.Duration
		want    error
	}{
		"nothing":                {func(context.CancelFunc, context.CancelCauseFunc) {}, time.Hour, io.EOF},
		"the caller gives up":    {func(giveUp context.CancelFunc, _ context.CancelCauseFunc) { giveUp() }, time.Hour, context.Canceled},
		"the request times out":  {func(context.CancelFunc, context.CancelCauseFunc) { time.Sleep(time.Second) }, time.Second, context.DeadlineExceeded},
		"the access is replaced": {func(_ context.CancelFunc, replace context.CancelCauseFunc) { replace(ErrAccessChanged) }, time.Hour, ErrAccessChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lease, replace := context.WithCancelCause(t.Context())
				ctx, giveUp := context.WithTimeout(t.Context(), test.within)
				defer giveUp()
				g := &guard{
					next:  ending(func() { test.happens(giveUp, replace) }),
					limit: 1, turns: make(chan struct{}, 1), lease: lease, invalidated: new(atomic.Bool),
					within: func(int64) time.Duration { return time.Hour },
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cluster", http.NoBody)
				require.NoError(t, err)
				res, err := g.RoundTrip(req)
				require.NoError(t, err)
				for range 2 {
					_, err = res.Body.Read(make([]byte, 1))
					require.ErrorIs(t, err, test.want)
				}
				require.NoError(t, res.Body.Close())
				require.Empty(t, g.turns, "the request's slot is free again")
			})
		})
	}
}

func TestACredentialIsMaskedInEveryAnswerThatBecomesAnError(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 201, 206, 226, 300, 304, 308, 399, 400, 404, 422, 500} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			registry, cp := newRegistry(t, nil)
			cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, newServer(t, answers(code)))))
			cluster, err := registry.ForKyma(t.Context(), "ns", "a")
			require.NoError(t, err)
			err = listOnce(t.Context(), cluster)
			require.Error(t, err)
			require.NotContains(t, err.Error(), secretToken)
			require.NotContains(t, fmt.Sprintf("%#v", err), secretToken)
		})
	}
}

func TestInASuccessfulResponseOnlyAStatusIsMasked(t *testing.T) {
	t.Parallel()
	m := masks{[]byte("credential")}
	large := strings.Repeat("x", maxErrorBytes)
	for name, test := range map[string]struct {
		code       int
		body, want string
	}{
		"a legitimate credential": {200, `{"kind":"Secret","data":"credential"}`, `{"kind":"Secret","data":"credential"}`},
		"a Status":                {200, `{"message":"credential","kind":"Status"}`, `{"message":"**********","kind":"Status"}`},
		"a Status in protobuf":    {200, "k8s\x00v1\x06Status credential", "k8s\x00v1\x06Status **********"},
		"an object in protobuf":   {200, "k8s\x00v1\x06Secret credential", "k8s\x00v1\x06Secret credential"},
		"unreadable content":      {200, "credential", "**********"},
		"a large object":          {200, "credential" + large, "credential" + large},
		"a redirection":           {302, "credential", "**********"},
		"nothing":                 {200, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := &http.Response{StatusCode: test.code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(test.body))}
			m.apply(res)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, test.want, string(got))
		})
	}
}

func TestErrorsAreTruncatedEvenWithoutACredentialToMask(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]masks{"with a token": {[]byte("credential")}, "with a client certificate": nil} {
		res := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Location": {"https://elsewhere"}}, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 20<<20)))}
		m.apply(res)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err, name)
		require.Len(t, got, maxErrorBytes, name)
		require.Empty(t, res.Header, name)
	}
}

func TestAFaultIsShortWhateverAClusterSays(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 400, 403, 404, 409, 422, 429, 500} {
		said := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":%q}`, max(code, 400), strings.Repeat("böse", 1<<18))
		server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, said)
		})
		registry, cp := newRegistry(t, nil)
		cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, server)))
		cluster, err := registry.ForKyma(t.Context(), "ns", "a")
		require.NoError(t, err)
		err = listOnce(t.Context(), cluster)
		require.Error(t, err)
		message := fault.Of(fmt.Errorf("list objects: %w", Classify(err))).Message
		require.LessOrEqual(t, len(message), fault.MaxMessage, "status %d", code)
		require.True(t, utf8.ValidString(message))
	}
}

func TestConcurrentRequestsToOneClusterAreLimited(t *testing.T) {
	t.Parallel()
	arrived, leave := make(chan struct{}, 10), make(chan struct{})
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-leave
		w.WriteHeader(http.StatusNotFound)
	})
	registry, cp := newRegistry(t, func(o *Options) { o.Limits.Concurrency = 2 })
	cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, server)))
	cluster, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	ended := make(chan error, 3)
	for range 3 {
		go func() { ended <- listOnce(t.Context(), cluster) }()
	}
	<-arrived
	<-arrived
	require.Empty(t, arrived, "the third request waits")

	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, listOnce(short, cluster), "canceled", "a waiting caller may give up")
	close(leave)
	for range 3 {
		require.ErrorContains(t, <-ended, "could not find")
	}
	require.Len(t, arrived, 1)
	for range 5 {
		require.ErrorContains(t, listOnce(t.Context(), cluster), "could not find", "every slot is free again")
	}
}

// otherAuthority returns an authority that has signed nothing.
func otherAuthority(t *testing.T) []byte {
	t.Helper()
	return certificateOf(t, time.Time{}, time.Now().Add(time.Hour))
}
