package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
)

// ofUpstream is the argument list of an upstream Deployment that gives every flag that it knows, with values as its
// documentation and its test configurations have them.
func ofUpstream() []string {
	return strings.Fields(`
		--leader-elect --leader-election-lease-duration=180s --leader-election-renew-deadline=120s --leader-election-retry-period=3s
		--log-level=9 --metrics-bind-address=:8080 --health-probe-bind-address=:8081 --pprof --pprof-bind-address=:8084 --pprof-server-timeout=90s
		--kyma-skr-listener-bind-address=:8082 --manifest-skr-listener-bind-address=:8083
		--max-concurrent-kyma-reconciles=50 --max-concurrent-manifest-reconciles=10 --max-concurrent-watcher-reconciles=1
		--max-concurrent-mandatory-modules-reconciles=1 --max-concurrent-mandatory-modules-deletion-reconciles=1
		--kyma-requeue-success-interval=20s --kyma-requeue-error-interval=2s --kyma-requeue-warning-interval=30s --kyma-requeue-busy-interval=5s
		--manifest-requeue-success-interval=5s --manifest-requeue-error-interval=2s --manifest-requeue-warning-interval=30s
		--manifest-requeue-busy-interval=5s --manifest-requeue-jitter-probability=0.02 --manifest-requeue-jitter-percentage=0.02
		--mandatory-module-requeue-success-interval=30s --mandatory-module-deletion-requeue-success-interval=30s
		--watcher-requeue-success-interval=30s --istio-gateway-secret-requeue-success-interval=5m --istio-gateway-secret-requeue-error-interval=2s
		--rate-limiter-burst=2000 --rate-limiter-frequency=1000 --failure-base-delay=5s --failure-max-delay=30s --cache-sync-timeout=60m
		--k8s-client-qps=1000 --k8s-client-burst=2000 --k8s-skr-client-qps=50 --k8s-skr-client-burst=100
		--cert-management=cert-manager.io/v1 --self-signed-cert-duration=1440h --self-signed-cert-renew-before=720h
		--self-signed-cert-renew-buffer=24h --self-signed-cert-key-size=4096 --self-signed-cert-issuer-name=klm-watcher-selfsigned
		--self-signed-cert-issuer-namespace=istio-system --self-signed-cert-naming-template=%s-webhook-tls
		--istio-namespace=istio-system --istio-gateway-name=klm-watcher --istio-gateway-namespace=kcp-system
		--istio-gateway-cert-switch-before-expiration-time=24h --istio-gateway-server-cert-switch-grace-period=96h
		--istio-gateway-server-cert-expiry-window=336h --legacy-strategy-for-istio-gateway-secret
		--skr-watcher-image-name=runtime-watcher --skr-watcher-image-tag=1.1.0 --skr-watcher-image-registry=registry.example.com
		--skr-watcher-path=./skr-webhook --skr-webhook-memory-limits=200Mi --skr-webhook-cpu-limits=0.1
		--enable-kcp-watcher --enable-domain-name-pinning=true --additional-dns-names=localhost,127.0.0.1 --listener-port-overwrite=9443
		--enable-purge-finalizer --purge-finalizer-timeout=5m --skip-finalizer-purging-for=ingressroutetcps.traefik.containo.us,*.helm.cattle.io
		--min-maintenance-window-size=20m --drop-crd-stored-version-map=Manifest:v1beta1,Kyma:v1beta1 --metrics-cleanup-interval=15
		--is-kyma-managed --sync-namespace=kyma-system --enable-webhooks=false --module-upgrade-rollout-max-delay=5m
		--oci-registry-host=https://registry.example.com --oci-registry-cred-secret=private-oci-reg-creds --modules-repository-subpath=a/b
		--skr-image-pull-secret=pull --restricted-default-modules=keda`)
}

// ofEarlierUpstream are flags that upstream once had.
func ofEarlierUpstream() []string {
	return strings.Fields(`--in-kcp-mode --access-namespaces=Manifest:kcp-system;Kyma:kcp-system --ca-cert-name=klm-watcher-serving
		--ca-cert-cache-ttl=1h --drop-stored-version=v1alpha1 --watcher-dev-registry --enable-verification=false
		--module-verification-key-file=key.pub --module-verification-signature-names=a:b --skr-listener-bind-address=:8082
		--max-concurrent-reconciles=1 --requeue-success-interval=20s`)
}

func TestTheArgumentsOfUpstreamStartTheProcess(t *testing.T) {
	f := &flags{}
	command := newRunCommand()
	command.ResetFlags()
	f.groups().AddTo(command)
	require.NoError(t, command.ParseFlags(append(ofUpstream(), ofEarlierUpstream()...)))
	require.NoError(t, f.check())
	_, err := cli.ParseLevel(f.logLevel)
	require.NoError(t, err)
	require.Equal(t, "kyma-system", f.settings.SyncNamespace)
	require.True(t, f.leaderElect)
	require.False(t, f.settings.Watching.Enabled(), "upstream's arguments do not say by which way events come")
}

func TestEachFlagWithoutEffectIsWarnedOfOnceWithTheReason(t *testing.T) {
	core, logged := observer.New(zapcore.WarnLevel)
	command := newRunCommand()
	require.NoError(t, command.ParseFlags([]string{
		"--ca-cert-name=a", "--ca-cert-name=b", "--is-kyma-managed", "--max-concurrent-kyma-reconciles=50", "--sync-namespace=other",
	}))
	settings.WarnOfIgnored(command.Flags(), zapr.NewLogger(zap.New(core)))
	warnings := map[string]string{}
	for _, entry := range logged.All() {
		flag, isText := entry.ContextMap()["flag"].(string)
		require.True(t, isText)
		require.Equal(t, zapcore.WarnLevel, entry.Level)
		require.Empty(t, warnings[flag], "one warning for each")
		warnings[flag] = entry.Message
	}
	require.Equal(t, map[string]string{
		"ca-cert-name":                   "flag --ca-cert-name has no effect: the names of certificates are fixed",
		"is-kyma-managed":                "flag --is-kyma-managed has no effect: --mode decides where modules are installed",
		"max-concurrent-kyma-reconciles": "flag --max-concurrent-kyma-reconciles has no effect: Temporal schedules the work, see --workflow-slots, --control-plane-slots and --remote-slots",
	}, warnings)
}

func TestAFlagWithoutEffectIsNoSettingOfTheInstance(t *testing.T) {
	require.Equal(t, settingsOf(t), settingsOf(t, ofEarlierUpstream()...))
	require.Equal(t, settingsOf(t), settingsOf(t, "--istio-namespace=a", "--skr-watcher-image-tag=1.1.0"), "there are no events")
	newRunCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		if settings.IsIgnored(flag) {
			require.NotContains(t, settingsOf(t), flag.Name)
		}
	})
}

func TestLogLevelsOfUpstreamAreNumbers(t *testing.T) {
	for given, enabled := range map[string]zapcore.Level{
		"0": zapcore.WarnLevel, "1": zapcore.InfoLevel, "2": zapcore.DebugLevel, "9": zapcore.DebugLevel, "-1": zapcore.DebugLevel,
		"info": zapcore.InfoLevel, "error": zapcore.ErrorLevel,
	} {
		level, err := cli.ParseLevel(given)
		require.NoError(t, err, given)
		require.Equal(t, enabled, level, given)
	}
	_, err := cli.ParseLevel("loud")
	require.Error(t, err)
}

// A Deployment's arguments take the place of those of the image, so that nobody says run.
func TestArgumentsWithoutACommandAreThoseOfRun(t *testing.T) {
	arguments := append(ofUpstream(), ofEarlierUpstream()...)
	require.Equal(t, append([]string{"run"}, arguments...), withCommand(arguments))
	for _, line := range []string{"", "run --role all", "status", "--help", "--version", "-h"} {
		require.Equal(t, strings.Fields(line), withCommand(strings.Fields(line)))
	}

	var said bytes.Buffer
	code := execute(t.Context(), append(arguments, "--role=nobody"), streams{in: &bytes.Buffer{}, out: &said, err: &said})
	require.Equal(t, exitUsage, code)
	require.Contains(t, said.String(), "--role")
	require.Contains(t, said.String(), "lifecycle-manager run --help")
}
