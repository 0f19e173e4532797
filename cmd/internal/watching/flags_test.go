package watching_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// parsed returns the flags of a command line, for a build 1.2.3.
func parsed(t *testing.T, line string) (*watching.Flags, *pflag.FlagSet) {
	t.Helper()
	var groups cli.Groups
	f := &watching.Flags{Build: "1.2.3"}
	f.AddTo(&groups)
	require.NoError(t, groups[0].Set.Parse(strings.Fields(line)))
	return f, groups[0].Set
}

const (
	direct = "--watcher-routing=direct --watcher-listener-address=events.example.com:443 "
	istio  = "--watcher-routing=istio --listener-gateway-cidrs=10.1.0.0/16 "
)

func TestWithoutFlagsThereAreNoEvents(t *testing.T) {
	f, set := parsed(t, "")
	require.NoError(t, f.Check())
	require.False(t, f.Desired().Enabled())
	require.True(t, watching.IsOff(set))
	require.Empty(t, f.Features())
	require.Equal(t, ":8082", f.BindAddress)
}

func TestTheFlagsDetermineTheDesiredState(t *testing.T) {
	f, set := parsed(t, direct+"--additional-dns-names=a.example,127.0.0.1 --istio-namespace=certificates --self-signed-cert-duration=48h --self-signed-cert-renew-before=24h")
	require.NoError(t, f.Check())
	require.False(t, watching.IsOff(set))
	require.Equal(t, desired.Watching{
		Routing: desired.RoutingDirect, Address: "events.example.com:443", DNSNames: []string{"a.example", "127.0.0.1"}, IstioNamespace: "certificates",
		GatewayName: "klm-watcher", GatewayNamespace: "kcp-system", Image: "lifecycle-manager-agent:1.2.3", MemoryLimit: "200Mi", CPULimit: "0.1",
	}, f.Desired())
	require.Equal(t, 48*time.Hour, f.Duration)
	require.Equal(t, 24*time.Hour, f.RenewBefore)

	f, _ = parsed(t, istio+"--listener-gateway-cidrs=fd00::1/64 --listener-port-overwrite=9443 --skr-watcher-image-registry=registry.example.com/prod --skr-watcher-image-name=runtime-watcher --skr-watcher-image-tag=2.0.0")
	require.NoError(t, f.Check())
	require.Equal(t, 9443, f.Desired().ListenerPort)
	require.Equal(t, "registry.example.com/prod/runtime-watcher:2.0.0", f.Desired().Image)
	require.False(t, f.Desired().RestartOnRenewal)
	f, _ = parsed(t, istio+"--listener-gateway-cidrs=fd00::1/64 --skr-watcher-restart-on-renewal")
	require.True(t, f.Desired().RestartOnRenewal)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/64")}, f.Gateways())
}

func TestTheRequiredKindsFollowTheFlags(t *testing.T) {
	for line, want := range map[string][]string{
		"--cert-management=cert-manager.io/v1": nil,
		direct:                                 nil,
		direct + "--cert-management=cert-manager.io/v1": {"Certificate.v1.cert-manager.io"},
		istio: {"Gateway.v1.networking.istio.io", "VirtualService.v1.networking.istio.io"},
		istio + "--cert-management=cert.gardener.cloud/v1alpha1": {"Gateway.v1.networking.istio.io", "VirtualService.v1.networking.istio.io", "Certificate.v1alpha1.cert.gardener.cloud"},
	} {
		f, _ := parsed(t, line)
		var needed []string
		for _, each := range f.NeededKinds() {
			needed = append(needed, each.Kind+"."+each.Version+"."+each.Group)
		}
		require.Equal(t, want, needed, line)
	}
}

func TestInvalidFlagsAreRefusedByName(t *testing.T) {
	for line, says := range map[string]string{
		"--watcher-routing=nginx":                          "--watcher-routing must be none, direct or istio",
		"--watcher-routing=direct":                         "needs --watcher-listener-address",
		"--watcher-routing=istio":                          "needs --listener-gateway-cidrs",
		direct + "--listener-gateway-cidrs=10.0.0.0/8":     "--listener-gateway-cidrs is for --watcher-routing istio",
		istio + "--watcher-listener-address=a:443":         "--watcher-listener-address is for --watcher-routing direct",
		"--watcher-listener-address=events.example.com":    "--watcher-listener-address must be host:port",
		"--watcher-listener-address=:443":                  "has no host",
		"--watcher-listener-address=https://a.example:443": "--watcher-listener-address",
		"--watcher-listener-address=a.example:https":       "no port",
		"--kyma-skr-listener-bind-address=8082":            "--kyma-skr-listener-bind-address must be host:port",
		"--kyma-skr-listener-bind-address=:0":              "no port",
		"--listener-gateway-cidrs=10.0.0.1":                "must be address ranges",
		"--listener-gateway-cidrs=0.0.0.0/0":               "would trust everybody",
		"--listener-port-overwrite=70000":                  "--listener-port-overwrite",
		"--additional-dns-names=a_b":                       "--additional-dns-names",
		"--istio-namespace=Istio":                          "--istio-namespace",
		"--istio-gateway-name=a/b":                         "--istio-gateway-name",
		"--cert-management=vault":                          "--cert-management must be",
		"--skr-watcher-image-name=UPPER":                   "name no image",
		"--skr-watcher-image-tag=a:b":                      "name no image",
		"--skr-webhook-memory-limits=much":                 "--skr-webhook-memory-limits",
		"--skr-webhook-cpu-limits=0":                       "--skr-webhook-cpu-limits",
		direct + "--self-signed-cert-renew-before=2160h":   "--self-signed-cert-renew-before",
		direct + "--self-signed-cert-renew-buffer=-1s":     "must not be negative",
		direct + "--self-signed-cert-key-size=1024":        "--self-signed-cert-key-size",
		direct + "--cert-management=cert.gardener.cloud/v1alpha1 --self-signed-cert-key-size=8192":                          "2048, 3072 or 4096",
		direct + "--cert-management=cert-manager.io/v1 --self-signed-cert-issuer-namespace=other":                           "or empty for a ClusterIssuer",
		direct + "--cert-management=cert-manager.io/v1 --self-signed-cert-duration=30m --self-signed-cert-renew-before=10m": "at least 1h",
	} {
		f, _ := parsed(t, line)
		require.ErrorContains(t, f.Check(), says, line)
	}
}

// Upstream's arguments start the process, even those that could not work with events.
func TestWithoutEventsTheOtherFlagsHaveNoEffectAndCauseWarnings(t *testing.T) {
	f, set := parsed(t, "--watcher-listener-address=a:1 --listener-gateway-cidrs=10.0.0.0/8 --self-signed-cert-key-size=1024 --self-signed-cert-duration=1h --kyma-skr-listener-bind-address=:8082")
	require.NoError(t, f.Check())
	core, logged := observer.New(zapcore.WarnLevel)
	watching.WarnOfUnused(set, zapr.NewLogger(zap.New(core)))
	require.Equal(t, 5, logged.Len())
	require.Equal(t, 1, logged.FilterMessage("flag --self-signed-cert-duration has no effect: there are no events from remote clusters (--watcher-routing none)").Len())

	_, set = parsed(t, direct+"--self-signed-cert-duration=4000h --watcher-routing=direct")
	watching.WarnOfUnused(set, zapr.NewLogger(zap.New(core)))
	require.Equal(t, 5, logged.Len(), "with events, the flags have an effect")
}

func TestTheListenersAddressIsNoSettingOfTheInstance(t *testing.T) {
	names := watching.Names()
	require.Contains(t, names, "watcher-routing")
	require.Contains(t, names, "self-signed-cert-duration")
	require.NotContains(t, names, "kyma-skr-listener-bind-address")
	require.NotContains(t, names, "listener-gateway-cidrs")
}

func TestTheRightsFollowTheFlags(t *testing.T) {
	for line, features := range map[string][]string{
		"--cert-management=cert-manager.io/v1": nil,
		direct:                                 {rights.Watching},
		direct + "--cert-management=cert-manager.io/v1":          {rights.Watching, rights.CertManager},
		istio + "--cert-management=cert.gardener.cloud/v1alpha1": {rights.Watching, rights.IstioRouting, rights.GardenerCertificates},
	} {
		f, _ := parsed(t, line)
		require.NoError(t, f.Check(), line)
		require.Equal(t, features, f.Features(), line)
	}
}
