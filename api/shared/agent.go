package shared

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
