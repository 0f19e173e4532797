package shared

import (
	"strconv"
	"strings"
)

// Names of the agent's objects in a remote cluster (docs/contract.md#agent).
const (
	// AgentName is the name of the agent's Deployment, its Service and its
	// ValidatingWebhookConfiguration.
	AgentName = "skr-webhook"
	// AgentMetricsService is the Service of the agent's metrics.
	AgentMetricsService = "skr-webhook-metrics"
	// AgentPriorityClass is the name of the PriorityClass of the agent's pods.
	AgentPriorityClass = "skr-webhook-priority"
	// AgentSecret is the name of the Secret with the agent's certificate. Its
	// data keys are below.
	AgentSecret = "skr-webhook-tls"
)

// Data keys of the Secrets with certificates: the agent's Secret in both
// clusters, and the listener's Secret.
const (
	CertificateAuthorityKey = "ca.crt"
	CertificateKey          = "tls.crt"
	PrivateKeyKey           = "tls.key"
)

// Ports of the agent.
const (
	AgentPort        = 8443
	AgentMetricsPort = 2112
	AgentProbePort   = 8081
)

// AgentNetworkPolicies returns the names of the agent's NetworkPolicies. Kyma's
// own Lifecycle Manager uses the same names.
func AgentNetworkPolicies() []string {
	return []string{AgentPolicyWebhook, AgentPolicyMetrics, AgentPolicyEvents, AgentPolicyDNS}
}

// Names of the agent's NetworkPolicies. The first two allow others to call its
// webhook and to read its metrics. The last two allow the agent to report events
// and to resolve names.
const (
	AgentPolicyWebhook = "kyma-project.io--seed-to-watcher"
	AgentPolicyMetrics = "kyma-project.io--metrics-to-watcher"
	AgentPolicyEvents  = "kyma-project.io--watcher-to-apiserver"
	AgentPolicyDNS     = "kyma-project.io--watcher-to-dns"
)

// AgentComponent takes the place of a module's component name for the agent.
const AgentComponent = "kyma-project.io/lifecycle-manager/agent"

// RemoteAgentName returns the name of a Kyma's RemoteAgent. The name has the same
// suffix for all Kymas and at most 62 characters, like the name of a Manifest: a
// long Kyma name is truncated, and its hash is appended.
func RemoteAgentName(kymaName string) string {
	if most := maxManifestNameLength - len(remoteAgentSuffix); len(kymaName) > most {
		hashed := "-" + strconv.FormatUint(uint64(hashOf(kymaName)), 10)
		kymaName = kymaName[:most-len(hashed)] + hashed
	}
	return kymaName + remoteAgentSuffix
}

// remoteAgentSuffix is the suffix of all RemoteAgent names: ManifestName of
// AgentComponent and AgentName without the name of a Kyma.
const remoteAgentSuffix = "-agent-788123878"

// IsRemoteAgentName reports whether this is the name of a RemoteAgent. No plan
// gives such a name to a module's Manifest.
func IsRemoteAgentName(name string) bool {
	return strings.HasSuffix(name, remoteAgentSuffix)
}

// KindOfInstallation returns the kind of the resource with this name: RemoteAgent
// for the agent, Manifest for a module.
func KindOfInstallation(name string) string {
	if IsRemoteAgentName(name) {
		return KindRemoteAgent
	}
	return KindManifest
}
