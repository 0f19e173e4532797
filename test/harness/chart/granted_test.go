package chart_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
)

// What is recorded of a release's accounts is compared with its roles, right by right.
func TestWhatIsRecordedOfAReleaseWithEventsIsWhatItsRolesSay(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]any
		features []string
		istio    string
	}{
		"direct": {
			map[string]any{"watcher-routing": "direct", "watcher-listener-address": "a:443", "istio-namespace": "certificates"},
			[]string{rights.InjectedSecrets, rights.Watching}, "certificates",
		},
		"istio, cert-manager": {
			map[string]any{"watcher-routing": "istio", "listener-gateway-cidrs": []any{"10.0.0.0/16"}, "cert-management": "cert-manager.io/v1"},
			[]string{rights.CertManager, rights.InjectedSecrets, rights.IstioRouting, rights.Watching}, "istio-system",
		},
		"Gardener": {
			map[string]any{"watcher-routing": "direct", "watcher-listener-address": "a:443", "cert-management": "cert.gardener.cloud/v1alpha1"},
			[]string{rights.GardenerCertificates, rights.InjectedSecrets, rights.Watching}, "istio-system",
		},
		"none":       {map[string]any{"cert-management": "cert-manager.io/v1"}, []string{rights.InjectedSecrets}, "istio-system"},
		"no Secrets": {map[string]any{"inject-data-from-kcp-modules": []any{}}, nil, "istio-system"},
	} {
		t.Run(name, func(t *testing.T) {
			release := chart.Release{Name: "lifecycle-manager", Namespace: "lm-system", Values: withAddress(map[string]any{
				"settings": tc.settings, "shape": "split", "namespaces": []any{"kymas"}, "webhook": map[string]any{"enabled": false},
			})}
			accounts := release.Granted(t, release.Objects(t))
			require.Len(t, accounts, 2)
			for _, account := range accounts {
				require.Equal(t, tc.features, account.Instance.Features)
				require.Equal(t, []string{tc.istio}, account.Namespaces[rights.ScopeIstio])
			}
		})
	}
}
