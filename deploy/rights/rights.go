// Package rights says what Lifecycle Manager may do in its control plane, by role: the one list (rights.yaml) that its
// chart grants, that `lifecycle-manager check` asks the API server for, and that the tests compare with what is used.
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

// Scopes of rights.
const (
	// ScopeCluster is everywhere, or on what has no namespace.
	ScopeCluster = "cluster"
	// ScopeNamespaces are the namespaces with Kymas and the catalog.
	ScopeNamespaces = "namespaces"
	// ScopeAccessSecrets is the namespace that access Secrets are in besides.
	ScopeAccessSecrets = "accessSecrets"
	// ScopeRelease is the namespace in which the instance runs.
	ScopeRelease = "release"
	// ScopeKeys is kcp-system, which has keys of signatures and the Secrets to pull images with.
	ScopeKeys = "keys"
	// ScopeIstio is the namespace with the certificates of agents and of the listener (`--istio-namespace`).
	ScopeIstio = "istio"
)

// Roles of processes. One of role all has both.
const (
	Watchers = "watchers"
	Workers  = "workers"
)

// Features that need rights of their own.
const (
	Webhook         = "webhook"
	MetricsSecure   = "metricsSecure"
	Signatures      = "signatures"
	ImagePullSecret = "imagePullSecret"
	RegistrySecret  = "registrySecret"
	InjectedSecrets = "injectedSecrets"
	StoredVersions  = "storedVersions"
	// Watching: there are events from remote clusters.
	Watching = "watching"
	// IstioRouting: they come by gateways of Istio.
	IstioRouting = "istioRouting"
	// CertManager and GardenerCertificates: these issue the certificates for them.
	CertManager          = "certManager"
	GardenerCertificates = "gardenerCertificates"
)

// Right is one entry of the list.
type Right struct {
	Scope string   `json:"scope"`
	For   []string `json:"for"`
	// When is the feature that needs it; empty for what is always needed.
	When          string   `json:"when,omitempty"`
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
	// Why is a sentence for people.
	Why string `json:"why"`
}

// Instance is what the rights of an instance depend on.
type Instance struct {
	// Roles are Watchers, Workers or both.
	Roles []string
	// Features are those that are switched on.
	Features []string
	// Names are the objects' by what the list calls them, without braces: settings, lease, webhook, webhookSecret,
	// imagePullSecret, registrySecret.
	Names map[string]string
}

// List returns the list as it is written.
func List() []byte { return append([]byte(nil), list...) }

// All returns the list.
func All() ([]Right, error) {
	var all []Right
	if err := yaml.UnmarshalStrict(list, &all); err != nil {
		return nil, fmt.Errorf("parse the embedded list of rights: %w", err)
	}
	return all, nil
}

// Of returns the rights of an instance, with its names filled in.
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

// In is the right as an instance has it, with its names filled in; applies is false where the instance does not need it.
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
			return r, false, fmt.Errorf("the name %s is not given", name)
		}
		r.ResourceNames[i] = known
	}
	return r, true, nil
}

// Rule is the right as a rule of a Role or ClusterRole.
func (r Right) Rule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, Verbs: r.Verbs}
}
