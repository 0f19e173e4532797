package desired

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ReasonControlPlaneTarget is the reason of faults and refusals where a module, or the synchronization itself, would go
// into the control plane's own cluster, which is not allowed.
const ReasonControlPlaneTarget = "ControlPlaneTargetNotAllowed"

// What a Manifest's spec and annotations say of its target is a wish that whoever may write Manifests can utter. Into
// the control plane's own cluster leads only what is recorded in its status, which nobody but us writes.

// InControlPlane tells whether a Manifest's module is for the control plane's own cluster, as the target of the module.
func InControlPlane(m *v1beta2.Manifest) bool {
	if t := m.Status.Target; t != nil {
		return t.Cluster == v1beta2.TargetClusterControlPlane
	}
	return !m.Spec.Remote && m.Labels[LabelSharedModule] != "" && installedUnrecorded(m)
}

// ByLocalClient tells whether a Manifest reaches its cluster by strategy `local-client`, for which no access Secret is
// needed: it is the control plane's own.
func ByLocalClient(m *v1beta2.Manifest) bool {
	if t := m.Status.Target; t != nil {
		return t.Cluster == v1beta2.TargetClusterLocalClient
	}
	return m.Spec.Remote && m.Annotations[AnnotationRemoteStrategy] == string(v1beta2.SyncStrategyLocalClient) && installedUnrecorded(m)
}

// IsPlaced tells whether it is settled in which cluster a Manifest's module is: another one would have to get it anew.
func IsPlaced(m *v1beta2.Manifest) bool {
	return m.Status.Target != nil || installedUnrecorded(m) || len(m.Status.Synced) > 0
}

// installedUnrecorded tells whether a module was installed before targets were recorded: its status says that it was,
// and that is as good as a record.
func installedUnrecorded(m *v1beta2.Manifest) bool {
	return m.Status.InstalledRef != "" || len(m.Status.Inventory) > 0
}

// WantsControlPlane is how a Manifest's spec and annotations ask for the control plane's own cluster; empty where they
// ask for the remote one. Nothing may follow from it but that a record of it is looked up, or made by whoever decided it.
func WantsControlPlane(m *v1beta2.Manifest) v1beta2.TargetCluster {
	switch {
	case !m.Spec.Remote:
		return v1beta2.TargetClusterControlPlane
	case m.Annotations[AnnotationRemoteStrategy] == string(v1beta2.SyncStrategyLocalClient):
		return v1beta2.TargetClusterLocalClient
	}
	return ""
}

// IsDecided tells whether the target of a Manifest was decided for its present spec. The Manifest must be complete: a
// cache leaves out what the digest is of.
func IsDecided(m *v1beta2.Manifest) bool {
	wants, record := WantsControlPlane(m), m.Status.Target
	if wants == "" {
		return record == nil
	}
	return record != nil && record.Cluster == wants && record.SpecDigest == SpecDigest(m.Spec)
}

// IsEdited tells whether somebody else changed the spec of a Manifest since we wrote it. The Manifest must be complete.
func IsEdited(m *v1beta2.Manifest) bool {
	written := m.Annotations[AnnotationSpecDigest]
	return written != "" && written != SpecDigest(m.Spec)
}

// SpecDigest is a digest of a Manifest's spec, whatever the order of the fields in its default custom resource.
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
