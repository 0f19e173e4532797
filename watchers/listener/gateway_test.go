package listener

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
)

// behind lets the listener accept gateways with these addresses.
func behind(cidrs ...string) func(*Options, *limits) {
	return func(o *Options, _ *limits) {
		o.Routing = desired.RoutingIstio
		for _, cidr := range cidrs {
			o.GatewayCIDRs = append(o.GatewayCIDRs, netip.MustParsePrefix(cidr))
		}
	}
}

func (f *fixture) plainURL() string { return "http://" + f.Addr().String() + path }

func TestTheCertificateThatAGatewayReportsCounts(t *testing.T) {
	f := start(t, behind("10.0.0.0/8", "127.0.0.0/8"), kyma("one", "runtime-1"), kyma("two", "runtime-2"))
	one, _ := f.authority.Issue("runtime-1")
	two, _ := f.authority.Issue("runtime-2")
	response, text := post(t, http.DefaultClient, f.plainURL(), strings.NewReader(kymaEdit), shared.HeaderClientCertificate, header(one))
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	require.Contains(t, f.kicked(1), "kyma/kcp-system/one/one-uid")

	h2 := &http.Transport{Protocols: &http.Protocols{}}
	h2.Protocols.SetUnencryptedHTTP2(true)
	defer h2.CloseIdleConnections()
	// The header that the client sent comes first, in a line of its own or in the same line.
	for _, headers := range [][]string{
		{shared.HeaderClientCertificate, header(one), shared.HeaderClientCertificate, header(two)}, {shared.HeaderClientCertificate, header(one) + "," + header(two)},
	} {
		response, text = post(t, &http.Client{Transport: h2}, f.plainURL(), strings.NewReader(kymaEdit), headers...)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		require.Equal(t, 2, response.ProtoMajor)
	}
	require.Contains(t, f.kicked(2+f.counted(resultAccepted)-2), "kyma/kcp-system/two/two-uid")
	require.Equal(t, 1, f.kicks.of("one"))
}

func TestTheCertificateThatAGatewayNamesIsVerified(t *testing.T) {
	for name, tc := range map[string]struct {
		header func(*fixture) string
		later  time.Duration
		status int
		result string
	}{
		"none":                       {func(*fixture) string { return "" }, 0, 401, resultUnauthenticated},
		"a header without one":       {func(*fixture) string { return `Hash=1;Subject="CN=runtime-1"` }, 0, 401, resultUnauthenticated},
		"a header that is no header": {func(*fixture) string { return `runtime-1` }, 0, 401, resultUnauthenticated},
		"an expired one":             {issued("runtime-1"), 2 * time.Hour, 401, resultUnauthenticated},
		"one of another authority": {func(f *fixture) string {
			certificate, _ := agenttest.NewAuthority(f.t, "another").Issue("runtime-1")
			return header(certificate)
		}, 0, 401, resultUnauthenticated},
		"one without a common name":     {issued(""), 0, 400, resultUnauthenticated},
		"one of a cluster that is gone": {issued("runtime-0"), 0, 401, resultUnknown},
		"a header that is too large":    {func(f *fixture) string { return header(append([]byte(strings.Repeat("\n", 11<<10)), issuedPEM(f)...)) }, 0, 401, resultUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(o *Options, l *limits) {
				behind("127.0.0.1/32")(o, l)
				o.Now = func() time.Time { return time.Now().Add(tc.later) }
			}, kyma("one", "runtime-1"))
			var headers []string
			if value := tc.header(f); value != "" {
				headers = []string{shared.HeaderClientCertificate, value}
			}
			response, text := post(t, http.DefaultClient, f.plainURL(), strings.NewReader(kymaEdit), headers...)
			require.Equal(t, tc.status, response.StatusCode, text)
			require.Equal(t, 1, f.counted(tc.result))
			require.Empty(t, f.kicks.all())
		})
	}
}

func issued(name string) func(*fixture) string {
	return func(f *fixture) string {
		certificate, _ := f.authority.Issue(name)
		return header(certificate)
	}
}

func issuedPEM(f *fixture) []byte {
	certificate, _ := f.authority.Issue("runtime-1")
	return certificate
}

func TestOnlyAGatewayMayReportACertificate(t *testing.T) {
	for name, cidrs := range map[string][]string{"no gateway is configured": nil, "the gateways are elsewhere": {"10.0.0.0/8", "::1/128"}} {
		t.Run(name, func(t *testing.T) {
			f := start(t, behind(cidrs...), kyma("one", "runtime-1"))
			for range 2 {
				response, _ := post(t, http.DefaultClient, f.plainURL(), strings.NewReader(kymaEdit), shared.HeaderClientCertificate, issued("runtime-1")(f))
				require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			}
			response, _ := post(t, http.DefaultClient, f.plainURL(), strings.NewReader(kymaEdit))
			require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			require.Equal(t, 2, f.counted(resultSmuggled))
			require.Equal(t, 1, f.counted(resultUnauthenticated))
			require.Equal(t, 1, strings.Count(f.lines(), "--listener-gateway-cidrs"), f.lines())
			require.Empty(t, f.kicks.all())
		})
	}
}

func TestWithoutAuthoritiesAgentsAreAskedToRetry(t *testing.T) {
	f := start(t, behind("127.0.0.1/32"), kyma("one", "runtime-1"))
	value := issued("runtime-1")(f)
	f.credentials.now.Store(nil)
	response, _ := post(t, http.DefaultClient, f.plainURL(), strings.NewReader(kymaEdit), shared.HeaderClientCertificate, value)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
	require.Equal(t, 1, f.counted(resultNotReady))
}
