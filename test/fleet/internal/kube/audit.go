package kube

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// auditedNamespaces are those whose service accounts are audited: where Lifecycle Manager's are, as its chart makes them.
// lm-system is that of a release apart from everything else (test/e2e/namespaces_test.go).
func auditedNamespaces() []string { return []string{"kcp-system", "lm-system"} }

// auditPolicy is the file with what is audited, and auditLog the one with what was, a line of JSON for each request.
func (c Cluster) auditPolicy() string { return filepath.Join(c.Dir, "audit-policy.yaml") }
func (c Cluster) auditLog() string    { return filepath.Join(c.Dir, "audit.log") }

// writeAuditPolicy has the API server log which requests the service accounts of these namespaces make, and by which role
// each was allowed: tests compare that with the rights that they were given. Bodies are not logged.
func (c Cluster) writeAuditPolicy() error {
	var groups []string
	for _, namespace := range auditedNamespaces() {
		groups = append(groups, "system:serviceaccounts:"+namespace)
	}
	policy, err := yaml.Marshal(map[string]any{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": []string{"RequestReceived"},
		"rules": []map[string]any{
			{"level": "Metadata", "userGroups": groups, "omitManagedFields": true},
			{"level": "None"},
		},
	})
	if err != nil {
		return fmt.Errorf("audit policy of cluster %s: %w", c.Name, err)
	}
	return state.WriteFile(c.auditPolicy(), policy)
}
