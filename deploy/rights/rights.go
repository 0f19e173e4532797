// Package rights describes which rights Lifecycle Manager needs in its control plane, by role. rights.yaml is the only
// list: the chart grants it, `lifecycle-manager check` asks the API server for it, and the end-to-end tests compare it
// with the rights that are used (docs/rights.md). Of returns the rights of one instance.
package rights

import (
	_ "embed" // for the list
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed rights.yaml
var list []byte

// Scopes of rights. They say where a right is granted.
const (
	// ScopeCluster is the whole cluster, and objects without a namespace.
	ScopeCluster = "cluster"
	// ScopeNamespaces are the namespaces with Kymas and the catalog.
	ScopeNamespaces = "namespaces"
	// ScopeAccessSecrets is an additional namespace for access Secrets.
	ScopeAccessSecrets = "accessSecrets"
	// ScopeRelease is the namespace of the instance's own pods.
	ScopeRelease = "release"
	// ScopeKeys is kcp-system, the namespace with public keys for signatures and with image pull Secrets.
	ScopeKeys = "keys"
	// ScopeIstio is the namespace with the certificates of agents and of the listener (`--istio-namespace`).
	ScopeIstio = "istio"
)

// Roles of processes. A process with role all has both.
const (
	Watchers = "watchers"
	Workers  = "workers"
)

// Features that need additional rights.
const (
	Webhook         = "webhook"
	MetricsSecure   = "metricsSecure"
	Signatures      = "signatures"
	ImagePullSecret = "imagePullSecret"
	RegistrySecret  = "registrySecret"
	InjectedSecrets = "injectedSecrets"
	StoredVersions  = "storedVersions"
	// Watching is on if remote clusters send events.
	Watching = "watching"
	// IstioRouting is on if these events arrive through Istio gateways.
	IstioRouting = "istioRouting"
	// CertManager and GardenerCertificates are on if they issue the certificates for events.
	CertManager          = "certManager"
	GardenerCertificates = "gardenerCertificates"
)

// Right is one entry of the list.
type Right struct {
	Scope string   `json:"scope"`
	For   []string `json:"for"`
	// When is the feature that needs the right. Empty means that the right is always needed.
	When          string   `json:"when,omitempty"`
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
	// Why explains to people what the right is for.
	Why string `json:"why"`
}

// Instance holds everything that the rights of an instance depend on.
type Instance struct {
	// Roles are Watchers, Workers or both.
	Roles []string
	// Features are the features that are on.
	Features []string
	// Names maps the placeholders in the list, without braces, to names of objects: settings, lease, webhook,
	// webhookSecret, imagePullSecret, registrySecret.
	Names map[string]string
}

// List returns the list as YAML.
func List() []byte { return append([]byte(nil), list...) }

// All returns the parsed list.
func All() ([]Right, error) {
	var all []Right
	if err := yaml.UnmarshalStrict(list, &all); err != nil {
		return nil, fmt.Errorf("parse the embedded list of rights: %w", err)
	}
	return all, nil
}

// Of returns the rights of an instance. Placeholders are replaced by names.
func Of(instance Instance) ([]Right, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	var needed []Right
	for _, right := range all {
		resolved, applies, err := right.In(instance)
		if err != nil {
			return nil, err
		}
		if applies {
			needed = append(needed, resolved)
		}
	}
	return needed, nil
}

// In returns the right with placeholders replaced by the instance's names. applies is false if the instance does not
// need the right.
func (r Right) In(instance Instance) (resolved Right, applies bool, err error) {
	if r.When != "" && !slices.Contains(instance.Features, r.When) {
		return r, false, nil
	}
	if !slices.ContainsFunc(r.For, func(role string) bool { return slices.Contains(instance.Roles, role) }) {
		return r, false, nil
	}
	r.ResourceNames = slices.Clone(r.ResourceNames)
	for i, name := range r.ResourceNames {
		placeholder, isPlaceholder := strings.CutPrefix(name, "{")
		if !isPlaceholder {
			continue
		}
		known, given := instance.Names[strings.TrimSuffix(placeholder, "}")]
		if !given {
			return r, false, fmt.Errorf("no value for the placeholder %s", name)
		}
		r.ResourceNames[i] = known
	}
	return r, true, nil
}

// Rule returns the right as a rule of a Role or ClusterRole.
func (r Right) Rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, Verbs: r.Verbs}
}
