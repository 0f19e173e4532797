package objects

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
)

// Target is a Manifest in its cluster: how the kinds of its objects are addressed there, and which objects it owns.
type Target struct {
	Manifest *v1beta2.Manifest
	Cluster  *clusters.Cluster
	Mapper   kinds.Mapper
	Owner    inventory.Owner
}

// NewTarget returns a target. The kinds that the module defines may be nil: then the cluster is asked for them.
func NewTarget(m *v1beta2.Manifest, c *clusters.Cluster, own map[schema.GroupKind]kinds.Definition) Target {
	return Target{Manifest: m, Cluster: c, Mapper: kinds.Mapper{Own: own, Cluster: c.Mapper}, Owner: inventory.OwnerOf(m)}
}

// IsProtected tells whether the removal of the Manifest never deletes an object, and it does not own it. What the agent
// consists of is protected from modules, and goes with the Manifest that brings the agent.
func (t Target) IsProtected(gvk schema.GroupVersionKind, name types.NamespacedName) bool {
	if t.Manifest != nil && desired.IsAgent(t.Manifest) && reserved.IsAgents(gvk.GroupKind(), name) {
		return false
	}
	return kinds.IsProtected(gvk, name)
}
