package listener

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// slow returns a body that sends nothing until the test ends.
func slow(t *testing.T) io.Reader {
	t.Helper()
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	return reader
}

func TestASlowBodyTimesOut(t *testing.T) {
	for _, plain := range []bool{true, false} {
		f := start(t, func(_ *Options, l *limits) { l.read = 300 * time.Millisecond }, kyma("one", "runtime-1"))
		agent := &http.Client{Transport: f.transport(plain, f.authority.Pair("runtime-1"))}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), slow(t))
		require.NoError(t, err)
		response, err := agent.Do(request)
		if err == nil {
			require.Equal(t, http.StatusRequestTimeout, response.StatusCode)
			_ = response.Body.Close()
		}
		require.Equal(t, 1, f.counted(resultTimeout))
		require.Empty(t, f.kicks.all())
	}
}

// closedByListener waits until the listener closes a connection.
func closedByListener(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	if err != nil {
		require.NotErrorAs(t, err, &timeout, "the connection is still open")
	}
}

func TestAConnectionWithoutAValidCertificateIsClosed(t *testing.T) {
	for name, connect := range map[string]func(*fixture, net.Conn) net.Conn{
		"nothing is sent": func(_ *fixture, c net.Conn) net.Conn { return c },
		"a handshake without a certificate and no request": func(f *fixture, c net.Conn) net.Conn {
			secure := tls.Client(c, &tls.Config{RootCAs: f.authority.Pool(), ServerName: "127.0.0.1", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13})
			require.NoError(f.t, secure.Handshake())
			return secure
		},
		"a header without an end": func(f *fixture, c net.Conn) net.Conn {
			secure := tls.Client(c, &tls.Config{RootCAs: f.authority.Pool(), ServerName: "127.0.0.1", Certificates: []tls.Certificate{f.authority.Pair("runtime-1")}, MinVersion: tls.VersionTLS13})
			_, err := io.WriteString(secure, "POST "+path+" HTTP/1.1\r\nHost: x\r\n")
			require.NoError(f.t, err)
			return secure
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(_ *Options, l *limits) { l.proof = 300 * time.Millisecond }, kyma("one", "runtime-1"))
			c, err := net.Dial("tcp", f.Addr().String())
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			closedByListener(t, connect(f, c))
			require.Equal(t, 1, f.counted(resultUnproven))
		})
	}
}

func TestAProvenConnectionStays(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.proof = 200 * time.Millisecond }, kyma("one", "runtime-1"))
	agent := f.agent("runtime-1")
	for range 3 {
		response, _ := post(t, agent, f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, http.StatusOK, response.StatusCode)
		time.Sleep(150 * time.Millisecond)
	}
	require.Zero(t, f.counted(resultUnproven))
	require.Len(t, f.clusters.connections, 1)
	require.Equal(t, 1, f.clusters.connections["runtime-1"])
}

func TestThereAreNoMoreConnectionsThanTheLimit(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.connections = 2 }, kyma("one", "runtime-1"))
	one, two := f.agent("runtime-1"), f.agent("runtime-1")
	for _, agent := range []*http.Client{one, two} {
		response, _ := post(t, agent, f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	third, late := make(chan int, 1), f.agent("runtime-1")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), strings.NewReader(kymaEdit))
	require.NoError(t, err)
	go func() {
		status := 0
		if response, err := late.Do(request); err == nil {
			status = response.StatusCode
			_ = response.Body.Close()
		}
		third <- status
	}()
	select {
	case <-third:
		require.Fail(t, "a third connection was served")
	case <-time.After(300 * time.Millisecond):
	}
	one.CloseIdleConnections()
	require.Equal(t, http.StatusOK, <-third)
}

func TestOneClusterCannotTakeAllConnections(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.connectionsPerCluster = 2 }, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	agents := []*http.Client{f.agent("runtime-1"), f.agent("runtime-1"), f.agent("runtime-1")}
	for i, agent := range agents {
		response, _ := post(t, agent, f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, []int{200, 200, 429}[i], response.StatusCode)
	}
	response, _ := post(t, f.agent("runtime-2"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	agents[0].CloseIdleConnections()
	require.Eventually(t, func() bool {
		response, _ := post(t, agents[2], f.url(), strings.NewReader(kymaEdit))
		return response.StatusCode == http.StatusOK
	}, 10*time.Second, 10*time.Millisecond)
}

// occupy sends requests without bodies, and waits until the listener reads them.
func occupy(t *testing.T, f *fixture, agent *http.Client, number int) {
	t.Helper()
	before := len(f.slots)
	for range number {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), slow(t))
		require.NoError(t, err)
		go func() {
			if response, err := agent.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}()
	}
	require.Eventually(t, func() bool { return len(f.slots) == before+number }, 10*time.Second, time.Millisecond)
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.requestsPerCluster, l.requests, l.read = 2, 4, time.Minute }, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	// HTTP/1 is used because an HTTP/2 connection has no more streams than a cluster may have requests.
	one := &http.Client{Transport: f.transport(true, f.authority.Pair("runtime-1"))}
	two := &http.Client{Transport: f.transport(true, f.authority.Pair("runtime-2"))}
	occupy(t, f, one, 2)
	response, _ := post(t, one, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	response, _ = post(t, two, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode, "another cluster has its own limit")
	occupy(t, f, two, 2)
	response, _ = post(t, two, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, 2, f.counted(resultOverloaded))
}

func TestAFullQueueRefusesEvents(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.queue.Capacity, l.queue.Together, l.queue.TogetherBurst = 1, 0.0001, 1 },
		kyma("one", "runtime-1"), kyma("two", "runtime-2"), kyma("three", "runtime-3"))
	for i, wanted := range []int{200, 200, 503} {
		response, _ := post(t, f.agent([]string{"runtime-1", "runtime-2", "runtime-3"}[i]), f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, wanted, response.StatusCode)
		if i == 0 {
			f.kicked(1)
		}
	}
	require.Equal(t, 1, f.counted(resultOverloaded))
	response, _ := post(t, f.agent("runtime-2"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode, "the event is merged with a waiting one")
	require.Equal(t, 1, f.counted(resultMerged))
}

func TestManyEventsOfOneClusterBecomeFewKicksAndDelayNoOtherCluster(t *testing.T) {
	f := start(t, nil, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	one := f.agent("runtime-1")
	for range 2_000 {
		response, _ := post(t, one, f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	response, _ := post(t, f.agent("runtime-2"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Eventually(t, func() bool { return f.kicks.of("two") == 1 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return f.kicker.length() == 0 }, 10*time.Second, time.Millisecond)
	require.Greater(t, f.counted(resultMerged), 1_000)
	require.Less(t, f.kicks.of("one"), 1_000)
}

func TestAKickThatFailsIsNotLost(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.queue.Pause = time.Millisecond }, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	f.kicks.mu.Lock()
	f.kicks.fails = map[string]int{"one": 4}
	f.kicks.mu.Unlock()
	for _, name := range []string{"runtime-1", "runtime-2"} {
		response, _ := post(t, f.agent(name), f.url(), strings.NewReader(kymaEdit))
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	f.kicked(2)
	require.Contains(t, f.lines(), "nobody answers")
	require.Eventually(t, func() bool {
		return testutil.CollectAndCount(f.registry, "lifecycle_mgr_events_delay_seconds") == 1 && f.kicker.length() == 0
	}, 10*time.Second, time.Millisecond)
}

func TestAtItsEndTheListenerSendsTheRemainingKicks(t *testing.T) {
	objects := kyma("one", "runtime-1")
	f := start(t, func(_ *Options, l *limits) { l.queue.PerSecond, l.queue.Burst = 0.0001, 1 }, objects, manifest("m", "one", nil))
	agent := f.agent("runtime-1")
	post(t, agent, f.url(), strings.NewReader(kymaEdit))
	f.kicked(1)
	response, _ := post(t, agent, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, 1, f.kicker.length(), "the kick waits for a token")
	require.NoError(t, f.stop())
	f.kicked(2)
	require.Zero(t, testutil.ToFloat64(f.metrics.Lost))
	_, err := net.Dial("tcp", f.Addr().String())
	require.Error(t, err, "the port is closed")
}

func TestAnEndingListenerRefusesEvents(t *testing.T) {
	f := start(t, func(_ *Options, l *limits) { l.drain = time.Second }, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	f.kicks.hold = make(chan struct{})
	one, two := f.agent("runtime-1"), f.agent("runtime-2")
	response, _ := post(t, one, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	ended := make(chan error, 1)
	go func() { ended <- f.stop() }()
	require.Eventually(t, f.stopping.Load, 10*time.Second, time.Millisecond)
	response, _ = post(t, two, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.NoError(t, <-ended)
	require.InDelta(t, 1, testutil.ToFloat64(f.metrics.Lost), 0, "Temporal accepted the kick too late")
	close(f.kicks.hold)
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	f := start(t, nil)
	good := f.options
	good.Registry = prometheus.NewRegistry()
	_, err := New(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*Options){
		"no address":                   func(o *Options) { o.Address = "" },
		"no routing":                   func(o *Options) { o.Routing = desired.RoutingNone },
		"no manager":                   func(o *Options) { o.Manager = "" },
		"a manager that is a path":     func(o *Options) { o.Manager = "a/b" },
		"gateways with direct routing": func(o *Options) { o.GatewayCIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
		"an invalid range": func(o *Options) {
			o.Routing, o.GatewayCIDRs = desired.RoutingIstio, []netip.Prefix{{}}
		},
		"no credentials":  func(o *Options) { o.Credentials = nil },
		"no Kymas":        func(o *Options) { o.Kymas = nil },
		"no Manifests":    func(o *Options) { o.Manifests = nil },
		"no kicks":        func(o *Options) { o.Kicks = nil },
		"no registry":     func(o *Options) { o.Registry = nil },
		"negative limits": func(o *Options) { o.KicksPerSecond = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			bad.Registry = prometheus.NewRegistry()
			change(&bad)
			_, err := New(bad)
			require.Error(t, err)
		})
	}
	require.False(t, f.NeedLeaderElection())
	taken := good
	taken.Address, taken.Registry = f.Addr().String(), prometheus.NewRegistry()
	second, err := New(taken)
	require.NoError(t, err)
	require.ErrorContains(t, second.Start(t.Context()), "open the listener's port")
	require.Equal(t, path, shared.EventPath(manager))
}
