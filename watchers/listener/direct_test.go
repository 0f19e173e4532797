package listener

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

func TestEventsOfBothGenerationsOfAgentsAreAccepted(t *testing.T) {
	f := start(t, nil, kyma("one", "runtime-1"))
	for _, to := range []string{shared.EventPath(manager), shared.EventPathV1(manager)} {
		for _, plain := range []bool{true, false} {
			agent := &http.Client{Transport: f.transport(plain, f.authority.Pair("runtime-1"))}
			response, _ := post(t, agent, "https://"+f.Addr().String()+to, strings.NewReader(kymaEdit))
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, plain, response.ProtoMajor == 1)
			require.EqualValues(t, tls.VersionTLS13, response.TLS.Version)
		}
	}
	old := f.transport(true, f.authority.Pair("runtime-1"))
	old.TLSClientConfig.MaxVersion = tls.VersionTLS12
	response, _ := post(t, &http.Client{Transport: old}, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	old.TLSClientConfig.MinVersion, old.TLSClientConfig.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	old.CloseIdleConnections()
	_, err := (&http.Client{Transport: old}).Get(f.url())
	require.Error(t, err)
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

func TestWhatIsRefusedAndHow(t *testing.T) {
	other := agenttest.NewAuthority(t, "another authority")
	selfMade := agenttest.NewAuthority(t, "authority") // has the name of the real authority
	large := strings.Repeat(" ", shared.MaxEventBytes) + kymaEdit
	for name, tc := range map[string]struct {
		to, method, body string
		certificate      func(*fixture) []tls.Certificate
		stream           func() io.Reader
		later            time.Duration
		header           string
		status           int
		result           string
	}{
		"another path":                  {to: "/v2/lifecycle-manager/events", status: 404, result: resultNotFound},
		"another version":               {to: "/v3/lifecycle-manager/event", status: 404, result: resultNotFound},
		"another manager":               {to: "/v2/another/event", status: 404, result: resultNotFound},
		"another method":                {method: http.MethodGet, status: 405, result: resultMethod},
		"no certificate":                {certificate: func(*fixture) []tls.Certificate { return nil }, status: 401, result: resultUnauthenticated},
		"one of another authority":      {certificate: func(*fixture) []tls.Certificate { return []tls.Certificate{other.Pair("runtime-1")} }, status: 401, result: resultUnauthenticated},
		"one of a self-made authority":  {certificate: func(*fixture) []tls.Certificate { return []tls.Certificate{selfMade.Pair("runtime-1")} }, status: 401, result: resultUnauthenticated},
		"an expired one":                {later: 2 * time.Hour, status: 401, result: resultUnauthenticated},
		"one that is not valid yet":     {later: -2 * time.Hour, status: 401, result: resultUnauthenticated},
		"one without a common name":     {certificate: func(f *fixture) []tls.Certificate { return []tls.Certificate{f.authority.Pair("")} }, status: 400, result: resultUnauthenticated},
		"one of a cluster that is gone": {certificate: func(f *fixture) []tls.Certificate { return []tls.Certificate{f.authority.Pair("runtime-0")} }, status: 401, result: resultUnknown},
		"a smuggled header":             {header: "two", status: 401, result: resultSmuggled},
		"a smuggled header, empty":      {header: "empty", status: 401, result: resultSmuggled},
		"no body":                       {body: " ", status: 400, result: resultInvalid},
		"a body that is no event":       {body: "{}", status: 400, result: resultInvalid},
		"a large body":                  {body: large, status: 413, result: resultTooLarge},
		"a large body of unknown size":  {stream: func() io.Reader { return io.MultiReader(strings.NewReader(large)) }, status: 413, result: resultTooLarge},
		"a body without an end":         {stream: func() io.Reader { return endless{} }, status: 413, result: resultTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			for _, plain := range []bool{true, false} {
				f := start(t, func(o *Options, _ *limits) { o.Now = func() time.Time { return time.Now().Add(tc.later) } }, kyma("one", "runtime-1"), kyma("two", "runtime-2"))
				certificates := []tls.Certificate{f.authority.Pair("runtime-1")}
				if tc.certificate != nil {
					certificates = tc.certificate(f)
				}
				var body io.Reader = strings.NewReader(tc.body)
				switch {
				case tc.stream != nil:
					body = tc.stream()
				case tc.body == "":
					body = strings.NewReader(kymaEdit)
				}
				to := tc.to
				if to == "" {
					to = path
				}
				method := tc.method
				if method == "" {
					method = http.MethodPost
				}
				request, err := http.NewRequestWithContext(t.Context(), method, "https://"+f.Addr().String()+to, body)
				require.NoError(t, err)
				switch tc.header {
				case "two":
					smuggled, _ := f.authority.Issue("runtime-2")
					request.Header.Set(shared.HeaderClientCertificate, header(smuggled))
				case "empty":
					request.Header.Set(shared.HeaderClientCertificate, "")
				}
				response, err := (&http.Client{Transport: f.transport(plain, certificates...)}).Do(request)
				require.Eventually(t, func() bool { return f.counted(tc.result) == 1 }, 10*time.Second, time.Millisecond)
				var text []byte
				if err == nil {
					text, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				if err != nil && tc.stream != nil {
					continue // a client that was still sending may get an error when the connection is closed
				}
				require.NoError(t, err)
				require.Equal(t, tc.status, response.StatusCode, string(text))
				require.NotEmpty(t, text, "the answer gives the reason")
				counted := f.metrics.Upstream
				require.Equal(t, 1, testutil.CollectAndCount(counted.Requests), "an unknown path creates no series")
				require.Equal(t, tc.result == resultNotFound, testutil.ToFloat64(counted.Errors.WithLabelValues(otherPath)) == 1)
				require.Equal(t, tc.result == resultTooLarge, testutil.ToFloat64(counted.TooLarge.WithLabelValues(path)) == 1)
				require.Equal(t, tc.certificate != nil || tc.header != "" || tc.later != 0, testutil.ToFloat64(counted.Unproven.WithLabelValues(path)) == 1)
				require.Empty(t, f.kicks.all())
				require.Zero(t, f.counted(resultAccepted))
			}
		})
	}
}

// A header of 48 KiB has room for the largest certificate.
func TestARevokedCertificateIsRefusedAndTheNextOneIsNot(t *testing.T) {
	agents, one := agenttest.NewAuthority(t, "agents"), kyma("one", "runtime-1")
	revoked := agents.Pair("runtime-1")
	leaf, err := x509.ParseCertificate(revoked.Certificate[0])
	require.NoError(t, err)
	one.Annotations = map[string]string{shared.AnnotationRevokedCertificates: leaf.SerialNumber.Text(16)}
	f := start(t, nil, one, kyma("two", "runtime-2"))
	f.credentials.show("2", f.authority, agents)
	for _, shown := range []struct {
		pair   tls.Certificate
		status int
	}{{revoked, http.StatusUnauthorized}, {revoked, http.StatusUnauthorized}, {agents.Pair("runtime-1"), http.StatusOK}, {agents.Pair("runtime-2"), http.StatusOK}} {
		response, err := (&http.Client{Transport: f.transport(false, shown.pair)}).Post(f.url(), "application/json", strings.NewReader(kymaEdit))
		require.NoError(t, err)
		_ = response.Body.Close()
		require.Equal(t, shown.status, response.StatusCode)
	}
	require.Equal(t, 2, f.counted(resultRevoked), "the second request finds a certificate that was already verified")
}

func TestAHeaderThatIsTooLargeIsRefused(t *testing.T) {
	for _, plain := range []bool{true, false} {
		f := start(t, nil, kyma("one", "runtime-1"))
		agent := &http.Client{Transport: f.transport(plain, f.authority.Pair("runtime-1"))}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), strings.NewReader(kymaEdit))
		require.NoError(t, err)
		request.Header.Set("X-Large", strings.Repeat("x", 60<<10))
		response, err := agent.Do(request)
		if err == nil {
			_ = response.Body.Close()
			require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		}
		require.Empty(t, f.kicks.all())
		request.Header.Set("X-Large", strings.Repeat("x", 40<<10))
		request.Body = io.NopCloser(strings.NewReader(kymaEdit))
		response, err = agent.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
}

// Each agent has its own connection. Meanwhile the authority is rotated: first both are trusted, then the server uses
// the new one, then the agents do, and finally the old one is no longer trusted.
func TestNoEventIsLostWhileTheAuthorityChanges(t *testing.T) {
	const clusters = 12
	var kymas []client.Object
	for i := range clusters {
		kymas = append(kymas, kyma(fmt.Sprint("kyma-", i), fmt.Sprint("runtime-", i)))
	}
	f := start(t, func(_ *Options, l *limits) { l.queue.PerSecond, l.queue.Burst = 1e6, 1e6 }, kymas...)
	before, after := f.authority, agenttest.NewAuthority(t, "the next authority")
	trusted := before.Pool()
	trusted.AppendCertsFromPEM(after.PEM)

	var rotated, stop atomic.Bool
	var sent atomic.Int64
	var agents sync.WaitGroup
	problems := make(chan string, 1000)
	for i := range clusters {
		agents.Go(func() {
			old, next := before.Pair(fmt.Sprint("runtime-", i)), after.Pair(fmt.Sprint("runtime-", i))
			for round := 0; !stop.Load(); round++ {
				shown := old
				if rotated.Load() {
					shown = next
				}
				transport := &http.Transport{ForceAttemptHTTP2: i%2 == 0, TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS13}}
				for range 10 {
					request, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, f.url(), strings.NewReader(kymaEdit))
					response, err := (&http.Client{Transport: transport}).Do(request)
					if err != nil {
						problems <- err.Error()
						continue
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
					if response.StatusCode != http.StatusOK {
						problems <- response.Status
					}
					sent.Add(1)
				}
				transport.CloseIdleConnections()
			}
		})
	}
	more := func(number int64) {
		t.Helper()
		from := sent.Load()
		require.Eventually(t, func() bool { return sent.Load() >= from+number }, 60*time.Second, time.Millisecond)
	}
	more(100)
	f.credentials.show("both", before, before, after)
	more(100)
	f.credentials.show("new certificate", after, before, after)
	more(100)
	rotated.Store(true)
	more(clusters * 20) // each agent has reconnected since
	f.credentials.show("new authority alone", after, after)
	more(100)
	stop.Store(true)
	agents.Wait()
	close(problems)
	for problem := range problems {
		require.Empty(t, problem)
	}
	require.EqualValues(t, sent.Load(), f.counted(resultAccepted)+f.counted(resultMerged))
	require.Eventually(t, func() bool { return f.kicker.length() == 0 }, 10*time.Second, time.Millisecond)

	response, _ := post(t, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: trusted, Certificates: []tls.Certificate{before.Pair("runtime-1")}, MinVersion: tls.VersionTLS13,
	}}}, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode, "the old authority is no longer trusted")
}

func TestARemovedAuthorityIsNoLongerTrustedOnOpenConnections(t *testing.T) {
	f := start(t, nil, kyma("one", "runtime-1"))
	agent := f.agent("runtime-1")
	response, _ := post(t, agent, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
	next := agenttest.NewAuthority(t, "the next authority")
	f.credentials.show("2", next, next)
	response, _ = post(t, agent, f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
}

func TestHandshakesFailBeforeThereIsACertificate(t *testing.T) {
	f := start(t, nil, kyma("one", "runtime-1"))
	there := f.credentials.now.Load()
	f.credentials.now.Store(nil)
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), strings.NewReader(kymaEdit))
		require.NoError(t, err)
		_, err = f.agent("runtime-1").Do(request)
		require.Error(t, err)
	}
	require.GreaterOrEqual(t, f.counted(resultNotReady), 3)
	require.Equal(t, 1, strings.Count(f.lines(), "agents cannot connect"), "one line per minute is enough")
	f.credentials.now.Store(there)
	response, _ := post(t, f.agent("runtime-1"), f.url(), strings.NewReader(kymaEdit))
	require.Equal(t, http.StatusOK, response.StatusCode)
}
