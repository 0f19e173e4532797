package planning

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Destination is the decision about where a Manifest goes. A module for the control plane's own cluster is installed only
// where that is recorded in the Manifest's status, for the very spec that was planned: a spec alone is what anybody may
// have written who may write Manifests.
type Destination struct {
	// Record is nil for the remote cluster.
	Record *v1beta2.TargetRecord
}

// destinationOf is the target of a Manifest as it is planned.
func destinationOf(planned *v1beta2.Manifest) *Destination {
	cluster := desired.WantsControlPlane(planned)
	if cluster == "" {
		return &Destination{}
	}
	return &Destination{Record: &v1beta2.TargetRecord{Cluster: cluster, SpecDigest: desired.SpecDigest(planned.Spec)}}
}

// Differs tells whether a Manifest's status says otherwise where it goes.
func (t *Destination) Differs(manifest *v1beta2.Manifest) bool {
	return t != nil && !equality.Semantic.DeepEqual(manifest.Status.Target, t.Record)
}
