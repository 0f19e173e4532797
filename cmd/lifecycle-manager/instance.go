package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
)

// ofProcess are the flags that are a matter of one process: where it listens, how much it does at once, what it logs,
// where its files are. Every other flag decides what is done, and is a setting of the instance.
func ofProcess() []string {
	return []string{
		"help", "config", "role", "kubeconfig", "log-level", "log-format", "stop-timeout",
		"worker-versioning", "worker-ramp-percent", "worker-ramp-duration",
		"metrics-bind-address", "metrics-secure", "metrics-cert-dir", "per-cluster-metrics", "health-probe-bind-address", "pprof", "pprof-bind-address",
		"leader-elect", "leader-election-namespace", "leader-election-lease-duration", "leader-election-renew-deadline",
		"leader-election-retry-period",
		"k8s-client-qps", "k8s-client-burst", "k8s-skr-client-qps", "k8s-skr-client-burst", "k8s-skr-client-concurrency",
		"workflow-slots", "control-plane-slots", "remote-slots", "background-slots", "sweep-concurrency", "module-upgrade-rollout-at-once",
		"enable-webhooks", "webhook-bind-address", "webhook-service-name", "webhook-url", "webhook-secret-name", "webhook-cert-dir",
		"oci-registry-pulls", "oci-registry-timeout", "oci-registry-ca-file", "rollout-prometheus-token-file", "artifact-cache-dir",
		"maintenance-policy-path", // its content counts
		"kyma-skr-listener-bind-address", "listener-gateway-cidrs",
	}
}

// addedLater are the settings of the instance that 0.1.0 does not have. They are recorded only where they are not at their
// default: a process of a release that does not know a setting would take its instance for one with other settings, and
// stop in the middle of an upgrade.
func addedLater() []string {
	return append(watching.Names(), "namespaces", "rollout-same-failures", "rollout-prometheus-url",
		"removal-budget-percent", "removal-budget-min", "removal-budget-window", "oci-registry-allowed", "module-state-from",
		"inject-data-from-kcp-modules")
}

// instanceSettings are the settings of the instance as the flags of this process have them. Lists are sets. Flags about events
// count where there are events: upstream's arguments have them, and releases before these flags recorded none.
func instanceSettings(set *pflag.FlagSet) map[string]string {
	process, later, own := ofProcess(), addedLater(), map[string]string{}
	if watching.IsOff(set) {
		process = append(process, watching.Names()...)
	}
	set.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(process, flag.Name) || settings.IsIgnored(flag) {
			return
		}
		if slices.Contains(later, flag.Name) && flag.Value.String() == flag.DefValue {
			return
		}
		value := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = strings.Join(slices.Sorted(slices.Values(list.GetSlice())), ",")
		}
		own[flag.Name] = value
	})
	return own
}

// takeRecorded takes from the record of the instance what neither the command line nor the file says: a command that people
// call is about the instance as it runs. It returns the record, nil if there is none: then flags and their defaults count.
func (f *flags) takeRecorded(ctx context.Context, reader client.Reader) (*corev1.ConfigMap, error) {
	record, err := agreement.Find(ctx, reader, releaseOf(f), f.settings.ManagedBy)
	if err != nil || record == nil {
		return nil, err
	}
	if err := settings.Take(f.set, record.Data); err != nil {
		return nil, fmt.Errorf("take over the settings in ConfigMap %s/%s: %w", record.Namespace, record.Name, err)
	}
	f.leaderElectionNamespace = cmp.Or(releaseOf(f), record.Namespace)
	// The leader has checked its settings, also together with flags of its process, which are not in the record.
	return record, f.complete()
}

// recordOf is where the settings of an instance are recorded: beside its lease, or in kcp-system.
func recordOf(f *flags) types.NamespacedName {
	return types.NamespacedName{
		Namespace: cmp.Or(releaseOf(f), shared.NamespaceControlPlane),
		Name:      agreement.RecordName(f.settings.ManagedBy),
	}
}

// releaseOf is the namespace of the instance as far as flags or the pod say it: who checks from outside may not.
func releaseOf(f *flags) string {
	mounted, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return cmp.Or(f.leaderElectionNamespace, strings.TrimSpace(string(mounted)))
}
