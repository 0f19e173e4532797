// Package settings implements two further sources of settings besides the flags of `lifecycle-manager run`: the
// configuration file (ReadFile) and the record of the instance (Take). It also accepts upstream's flags that have no effect
// here (UpstreamOnly).
package settings

import (
	"slices"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
)

// NoEffect holds flags that upstream has, or had, and that have no effect here, with the reason. They are accepted so
// that the arguments of upstream's Deployment start this process.
type NoEffect struct {
	Why      string
	Names    []string
	Switches []string // may be given without a value
}

// UpstreamOnly returns all these flags. Flags with the same name and meaning here are not included.
func UpstreamOnly() []NoEffect {
	return []NoEffect{
		{
			Why:   "one listener takes all events, at --kyma-skr-listener-bind-address",
			Names: []string{"manifest-skr-listener-bind-address", "skr-listener-bind-address"},
		},
		{
			Why: "use upstream's former name of this flag, see the flags for events from remote clusters",
			Names: []string{
				"runtime-watcher-client-cert-duration", "runtime-watcher-client-cert-renew-before", "runtime-watcher-client-cert-renew-buffer",
				"runtime-watcher-client-cert-key-size", "runtime-watcher-client-cert-issuer-name", "runtime-watcher-client-cert-issuer-namespace",
				"runtime-watcher-gateway-name", "runtime-watcher-gateway-namespace",
				"runtime-watcher-server-cert-switch-grace-period", "runtime-watcher-server-cert-expiry-window",
				"runtime-watcher-image-name", "runtime-watcher-image-tag", "runtime-watcher-image-registry",
				"runtime-watcher-memory-limits", "runtime-watcher-cpu-limits",
			},
		},
		{
			Why:      "the listener changes its certificate when every agent trusts the new authority, see --istio-gateway-server-cert-switch-grace-period",
			Names:    []string{"istio-gateway-cert-switch-before-expiration-time", "runtime-watcher-server-cert-switch-before-expiration-time"},
			Switches: []string{"legacy-strategy-for-istio-gateway-secret"},
		},
		{
			Why: "a workflow renews each certificate when it is time",
			Names: []string{
				"istio-gateway-secret-requeue-success-interval", "istio-gateway-secret-requeue-error-interval",
				"runtime-watcher-server-cert-requeue-success-interval", "runtime-watcher-server-cert-requeue-error-interval", "ca-cert-cache-ttl",
			},
		},
		{
			Why:   "the names of certificates are fixed",
			Names: []string{"self-signed-cert-naming-template", "ca-cert-name"},
		},
		{
			Why:      "this program contains the agent's objects, and --skr-watcher-image-registry sets the registry of its image",
			Names:    []string{"skr-watcher-path"},
			Switches: []string{"watcher-dev-registry"},
		},
		{
			Why:      "--watcher-routing enables events from remote clusters",
			Switches: []string{"enable-kcp-watcher"},
		},
		{
			Why:      "the common name of the agent's certificate identifies the Kyma",
			Switches: []string{"enable-domain-name-pinning"},
		},
		{
			Why: "Temporal schedules the work, see --workflow-slots, --control-plane-slots and --remote-slots",
			Names: []string{
				"max-concurrent-reconciles", "max-concurrent-kyma-reconciles", "max-concurrent-manifest-reconciles",
				"max-concurrent-mandatory-modules-reconciles", "max-concurrent-mandatory-modules-deletion-reconciles", "max-concurrent-watcher-reconciles",
			},
		},
		{
			Why: "events start the work, and --resync-interval sets how often everything is compared",
			Names: []string{
				"requeue-success-interval", "requeue-failure-interval", "requeue-waiting-interval",
				"kyma-requeue-success-interval", "kyma-requeue-error-interval", "kyma-requeue-warning-interval", "kyma-requeue-busy-interval",
				"manifest-requeue-success-interval", "manifest-requeue-error-interval", "manifest-requeue-warning-interval",
				"manifest-requeue-busy-interval", "manifest-requeue-jitter-probability", "manifest-requeue-jitter-percentage",
				"mandatory-module-requeue-success-interval", "mandatory-module-deletion-requeue-success-interval",
				"watcher-requeue-success-interval", "runtime-watcher-requeue-success-interval",
			},
		},
		{
			Why:   "each workflow has a back-off of its own, and clients have --k8s-client-qps and --k8s-skr-client-qps",
			Names: []string{"rate-limiter-burst", "rate-limiter-frequency", "failure-base-delay", "failure-max-delay"},
		},
		{
			Why:   "the process waits for its caches without a limit, and is not ready meanwhile",
			Names: []string{"cache-sync-timeout"},
		},
		{
			Why:      "--mode decides where modules are installed",
			Switches: []string{"in-kcp-mode", "is-kyma-managed"},
		},
		{
			Why:      "--signature-policy controls the verification of component descriptors, with keys in Secrets",
			Names:    []string{"module-verification-key-file", "module-verification-signature-names"},
			Switches: []string{"enable-verification"},
		},
		{
			Why:   "no version of the CustomResourceDefinitions is dropped; all are served",
			Names: []string{"drop-crd-stored-version-map", "drop-stored-version"},
		},
		{
			Why:   "metrics of deleted objects disappear by themselves",
			Names: []string{"metrics-cleanup-interval"},
		},
		{
			Why:   "pprof has no timeout",
			Names: []string{"pprof-server-timeout"},
		},
		{
			Why:   "the rights of the process's account decide which namespaces it reads",
			Names: []string{"access-namespaces"},
		},
	}
}

// RegisterUpstreamOnly accepts these flags in a set, with any value.
func RegisterUpstreamOnly(set *pflag.FlagSet) {
	for _, group := range UpstreamOnly() {
		for _, name := range group.Names {
			set.Var(&ignored{kind: "string"}, name, "no effect: "+group.Why)
		}
		for _, name := range group.Switches {
			set.Var(&ignored{kind: "bool"}, name, "no effect: "+group.Why)
			set.Lookup(name).NoOptDefVal = "true"
		}
	}
}

// ignored is the value of a flag without effect.
type ignored struct {
	kind, value string
}

// String implements pflag.Value.
func (i *ignored) String() string { return i.value }

// Set implements pflag.Value.
func (i *ignored) Set(value string) error {
	i.value = value
	return nil
}

// Type implements pflag.Value.
func (i *ignored) Type() string { return i.kind }

// IsIgnored reports whether a flag has no effect.
func IsIgnored(flag *pflag.Flag) bool {
	_, ok := flag.Value.(*ignored)
	return ok
}

// WarnOfIgnored logs a warning for each flag that is set and has no effect.
func WarnOfIgnored(set *pflag.FlagSet, log logr.Logger) {
	set.Visit(func(flag *pflag.Flag) {
		if IsIgnored(flag) {
			warn(log, "flag --"+flag.Name+" has "+flag.Usage, "flag", flag.Name)
		}
	})
}

// WarnOf logs a warning for each of these flags that is set: it has no effect, and why.
func WarnOf(set *pflag.FlagSet, log logr.Logger, why string, names ...string) {
	set.Visit(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			warn(log, "flag --"+flag.Name+" has no effect: "+why, "flag", flag.Name)
		}
	})
}

// warn logs a warning, a level that logr does not have.
func warn(log logr.Logger, message string, keysAndValues ...any) {
	if zap, ok := log.GetSink().(zapr.Underlier); ok {
		zap.GetUnderlying().Sugar().Warnw(message, keysAndValues...)
		return
	}
	log.Info(message, keysAndValues...)
}
