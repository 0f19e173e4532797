// Package planned records in Kyma.status.planned what a Kyma's plan decided about its Manifests: the name and a digest
// of each. Package resolve writes an entry before it writes the Manifest. The installation asks Allows before it sends
// requests to a registry or a cluster. Without this check, anyone who may write Manifests could have anything installed
// with our permissions.
package planned

import (
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Labels returns the labels of a Manifest that a plan sets and removes.
func Labels() []string {
	return []string{
		shared.LabelKymaName, shared.LabelModuleName, shared.LabelManagedBy, shared.LabelChannel, shared.LabelControllerName,
		shared.LabelMandatoryModule, desired.LabelSharedModule,
	}
}

// Annotations returns the annotations of a Manifest that a plan sets and removes.
func Annotations() []string {
	return []string{
		shared.AnnotationFQDN, shared.AnnotationOCMComponentName, shared.AnnotationIsUnmanaged,
		shared.AnnotationRecreateDefaultCR,
		desired.AnnotationModuleEntry, desired.AnnotationCustomStateCheck, desired.AnnotationRemoteNamespace, desired.AnnotationRemoteStrategy,
		desired.AnnotationImagePullSecret,
		desired.AnnotationAssociatedKinds, desired.AnnotationAgent, shared.AnnotationInjects,
	}
}

// Record returns the entry for a Manifest as a plan decided it. Signed is PlannedManifest.Signed.
func Record(m *v1beta2.Manifest, signed bool) v1beta2.PlannedManifest {
	return v1beta2.PlannedManifest{Name: m.Name, Digest: digest(m), Signed: signed}
}

// Of returns a Kyma's entry for the Manifest of this name; nil if it has none.
func Of(kyma *v1beta2.Kyma, name string) *v1beta2.PlannedManifest {
	i := slices.IndexFunc(kyma.Status.Planned, func(p v1beta2.PlannedManifest) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &kyma.Status.Planned[i]
}

// Allows reports whether a Manifest is as the plan of its Kyma decided it. The Manifest must be complete: a cache may
// leave out fields that the digest covers.
func Allows(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	entry := Of(kyma, m.Name)
	return entry != nil && entry.Digest == digest(m)
}

// IsUnknown reports whether no plan of the Kyma ever had a Manifest and nothing is installed for it: someone else
// created it. The Manifest must be complete, because upstream's status counts too.
func IsUnknown(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return Of(kyma, m.Name) == nil && !desired.IsPlaced(m) && m.Status.DefaultCR == nil && !slices.Contains(shown(kyma), m.Name)
}

// shown returns the names of the Manifests in the statuses of a Kyma's modules.
func shown(kyma *v1beta2.Kyma) []string {
	var names []string
	for _, module := range kyma.Status.Modules {
		if module.Manifest != nil {
			names = append(names, module.Manifest.Metadata.Name)
		}
	}
	return names
}

func digest(m *v1beta2.Manifest) string {
	return desired.DigestOf(desired.SpecDigest(m.Spec), lists.Keep(m.Labels, Labels()), lists.Keep(m.Annotations, Annotations()))[:16]
}
