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

// Target is a Manifest in its cluster. It maps the kinds of the Manifest's objects to APIs, and knows which objects
// the Manifest owns.
type Target struct {
	Manifest *v1beta2.Manifest
	Cluster  *clusters.Cluster
	Mapper   kinds.Mapper
	Owner    inventory.Owner
}

// NewTarget returns a Target. The module's own definitions may be nil; the cluster is then asked for their kinds.
func NewTarget(m *v1beta2.Manifest, c *clusters.Cluster, own map[schema.GroupKind]kinds.Definition) Target {
	return Target{Manifest: m, Cluster: c, Mapper: kinds.Mapper{Own: own, Cluster: c.Mapper}, Owner: inventory.OwnerOf(m)}
}

// IsProtected reports whether an object is protected from the Manifest: the Manifest does not own it, and its removal
// never deletes it. The agent's objects are protected from modules. They belong to the Manifest that installs the
// agent.
func (t Target) IsProtected(gvk schema.GroupVersionKind, name types.NamespacedName) bool {
	if t.Manifest != nil && desired.IsAgent(t.Manifest) && reserved.IsAgents(gvk.GroupKind(), name) {
		return false
	}
	return kinds.IsProtected(gvk, name)
}
