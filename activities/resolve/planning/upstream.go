package planning

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// descriptors is the part of a repository below which components are. Upstream appends it when it reads a layer, we write
// it into the Manifest.
const descriptors = "/component-descriptors"

// takeOver plans that a Manifest that stays as it is, for a maintenance window or as its entry is refused, is written as
// we do where upstream wrote it: nobody would work on it otherwise. What it installs stays the same.
func (p *planner) takeOver(e *entry) {
	if e.plan.Action == ActionKeep && p.sync.Enabled && IsUpstreams(e.manifest) && !e.manifest.IsSkipReconciliation() {
		e.plan.Action, e.plan.Manifest, e.plan.Destination = ActionUpdate, p.inOurForm(e.manifest), &Destination{}
	}
}

// IsUpstreams tells whether upstream wrote the spec of a Manifest: it never says that a module is for a remote cluster,
// and notes which layer it installed.
func IsUpstreams(m *v1beta2.Manifest) bool {
	return !m.Spec.Remote && m.Status.Target == nil && !desired.InControlPlane(m) &&
		m.Annotations[desired.AnnotationSpecDigest] == "" && m.Annotations[shared.AnnotationSyncOCIRef] != ""
}

// inOurForm is a Manifest that upstream wrote, as we would write it for the same module. The caller owns the result.
func (p *planner) inOurForm(existing *v1beta2.Manifest) *v1beta2.Manifest {
	manifest := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name: existing.Name, Namespace: existing.Namespace, OwnerReferences: existing.OwnerReferences,
			Labels: keep(existing.Labels, OurLabels()), Annotations: keep(existing.Annotations, OurAnnotations()),
		},
		Spec: *existing.Spec.DeepCopy(),
	}
	manifest.Spec.Remote = true
	images := []*v1beta2.ImageSpec{&manifest.Spec.Install.Source}
	if manifest.Spec.Config != nil {
		images = append(images, manifest.Spec.Config)
	}
	for _, image := range images {
		if !strings.HasSuffix(image.Repo, descriptors) {
			image.Repo = strings.TrimSuffix(image.Repo, "/") + descriptors
		}
	}
	manifest.Annotations[desired.AnnotationRemoteNamespace] = p.Settings.SyncNamespace
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest
}
