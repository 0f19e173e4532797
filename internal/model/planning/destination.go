package planning

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Destination is the decision about the cluster of a Manifest. A module is installed into the control plane's own
// cluster only if the Manifest's status records that, for exactly the spec that was planned. The spec alone proves
// nothing, because anyone who may write Manifests may have written it.
type Destination struct {
	// Record is nil for the remote cluster.
	Record *v1beta2.TargetRecord
}

// destinationOf returns the destination of a planned Manifest.
func destinationOf(planned *v1beta2.Manifest) *Destination {
	cluster := desired.WantsControlPlane(planned)
	if cluster == "" {
		return &Destination{}
	}
	return &Destination{Record: &v1beta2.TargetRecord{Cluster: cluster, SpecDigest: desired.SpecDigest(planned.Spec)}}
}

// Differs reports whether a Manifest's status has a different target.
func (t *Destination) Differs(manifest *v1beta2.Manifest) bool {
	return t != nil && !equality.Semantic.DeepEqual(manifest.Status.Target, t.Record)
}
