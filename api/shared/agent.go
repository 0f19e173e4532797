package shared

import (
	"strconv"
	"strings"
)

// Names of what the agent consists of in a remote cluster
// (docs/contract.md#agent).
const (
	// AgentName is the name of the agent's Deployment, its Service and its
	// ValidatingWebhookConfiguration.
	AgentName = "skr-webhook"
	// AgentMetricsService is the Service of the agent's metrics.
	AgentMetricsService = "skr-webhook-metrics"
	// AgentPriorityClass is the PriorityClass of the agent's pods.
	AgentPriorityClass = "skr-webhook-priority"
	// AgentSecret has the agent's certificate, under the keys below.
	AgentSecret = "skr-webhook-tls"
)

// Data keys of the Secrets with certificates: an agent's, in both clusters, and
// the listener's.
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

// AgentNetworkPolicies are the names of the agent's NetworkPolicies; upstream's
// are the same.
func AgentNetworkPolicies() []string {
	return []string{AgentPolicyWebhook, AgentPolicyMetrics, AgentPolicyEvents, AgentPolicyDNS}
}

// Names of the agent's NetworkPolicies: who may call its webhook and read its
// metrics, and that it may report events and resolve names.
const (
	AgentPolicyWebhook = "kyma-project.io--seed-to-watcher"
	AgentPolicyMetrics = "kyma-project.io--metrics-to-watcher"
	AgentPolicyEvents  = "kyma-project.io--watcher-to-apiserver"
	AgentPolicyDNS     = "kyma-project.io--watcher-to-dns"
)

// AgentComponent stands for the agent where a module has the name of its
// component.
const AgentComponent = "kyma-project.io/lifecycle-manager/agent"

// RemoteAgentName returns the name of the RemoteAgent of a Kyma of this name. It
// ends alike for all Kymas, and has at most 62 characters as the name of a
// Manifest has: a long name of a Kyma is cut, and has its hash behind it.
func RemoteAgentName(kymaName string) string {
	if most := maxManifestNameLength - len(remoteAgentSuffix); len(kymaName) > most {
		hashed := "-" + strconv.FormatUint(uint64(hashOf(kymaName)), 10)
		kymaName = kymaName[:most-len(hashed)] + hashed
	}
	return kymaName + remoteAgentSuffix
}

// remoteAgentSuffix is what the name of every RemoteAgent ends with: ManifestName
// of AgentComponent and AgentName without a Kyma.
const remoteAgentSuffix = "-agent-788123878"

// IsRemoteAgentName reports whether this is the name of a RemoteAgent. No plan
// gives it to the Manifest of a module.
func IsRemoteAgentName(name string) bool {
	return strings.HasSuffix(name, remoteAgentSuffix)
}

// KindOfInstallation returns the kind of the resource of this name that has an
// installation: a RemoteAgent or, for a module, a Manifest.
func KindOfInstallation(name string) string {
	if IsRemoteAgentName(name) {
		return KindRemoteAgent
	}
	return KindManifest
}
