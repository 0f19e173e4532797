package desired

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ReasonControlPlaneTarget is the reason of faults and refusals if a module, or the synchronization itself, would go
// into the control plane's own cluster without permission.
const ReasonControlPlaneTarget = "ControlPlaneTargetNotAllowed"

// A Manifest's spec and annotations are only a request, which anyone who may write Manifests can make. A module goes
// into the control plane's own cluster only if the Manifest's status records that, because only we write the status.

// InControlPlane reports whether a Manifest's module is for the control plane's own cluster because of its target.
func InControlPlane(m *v1beta2.Manifest) bool {
	if t := m.Status.Target; t != nil {
		return t.Cluster == v1beta2.TargetClusterControlPlane
	}
	return !m.Spec.Remote && m.Labels[LabelSharedModule] != "" && installedUnrecorded(m)
}

// ByLocalClient reports whether a Manifest reaches its cluster by strategy `local-client`. That is the control plane's
// own cluster and needs no access Secret.
func ByLocalClient(m *v1beta2.Manifest) bool {
	if t := m.Status.Target; t != nil {
		return t.Cluster == v1beta2.TargetClusterLocalClient
	}
	return m.Spec.Remote && m.Annotations[AnnotationRemoteStrategy] == string(v1beta2.SyncStrategyLocalClient) && installedUnrecorded(m)
}

// IsPlaced reports whether the cluster of a Manifest's module is fixed. In another cluster, the module would have to be
// installed from scratch.
func IsPlaced(m *v1beta2.Manifest) bool {
	return m.Status.Target != nil || installedUnrecorded(m) || len(m.Status.Synced) > 0
}

// installedUnrecorded reports whether a module was installed before targets were recorded. Its status shows the
// installation, which counts like a record.
func installedUnrecorded(m *v1beta2.Manifest) bool {
	return m.Status.InstalledRef != "" || len(m.Status.Inventory) > 0
}

// WantsControlPlane returns how a Manifest's spec and annotations ask for the control plane's own cluster; empty if
// they ask for the remote cluster. Callers may only use the result to check or write the record of the decision.
func WantsControlPlane(m *v1beta2.Manifest) v1beta2.TargetCluster {
	switch {
	case !m.Spec.Remote:
		return v1beta2.TargetClusterControlPlane
	case m.Annotations[AnnotationRemoteStrategy] == string(v1beta2.SyncStrategyLocalClient):
		return v1beta2.TargetClusterLocalClient
	}
	return ""
}

// IsDecided reports whether the target of a Manifest was decided for its present spec. The Manifest must be complete,
// because a cache leaves out fields that the digest covers.
func IsDecided(m *v1beta2.Manifest) bool {
	wants, record := WantsControlPlane(m), m.Status.Target
	if wants == "" {
		return record == nil
	}
	return record != nil && record.Cluster == wants && record.SpecDigest == SpecDigest(m.Spec)
}

// IsEdited reports whether someone else changed the spec of a Manifest since we wrote it. The Manifest must be
// complete.
func IsEdited(m *v1beta2.Manifest) bool {
	written := m.Annotations[AnnotationSpecDigest]
	return written != "" && written != SpecDigest(m.Spec)
}

// SpecDigest returns a digest of a Manifest's spec. It does not depend on the order of fields in the default custom
// resource.
func SpecDigest(spec v1beta2.ManifestSpec) string {
	var resource any
	if spec.Resource != nil && len(spec.Resource.Raw) > 0 {
		if err := json.Unmarshal(spec.Resource.Raw, &resource); err != nil {
			resource = string(spec.Resource.Raw)
		}
	}
	spec.Resource = nil
	return DigestOf(spec, resource)[:16]
}
