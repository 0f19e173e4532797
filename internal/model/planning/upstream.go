package planning

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// keepAsInCatalog handles a Manifest that stays as it is, for a maintenance window or because its entry is refused,
// although no plan of this Kyma has decided about it. Either upstream wrote the Manifest, or the Kyma's status was
// lost. Without a record, it would not be reconciled. A Manifest itself proves nothing, so it is recorded, and written
// in our form, only if the plan would write the same for its version.
func (p *planner) keepAsInCatalog(e *entry) {
	byUpstream := p.sync.Enabled && IsUpstreams(e.manifest)
	if e.plan.Action != ActionKeep || e.plan.Record != nil || e.manifest.IsSkipReconciliation() || !e.Module.IsManaged() ||
		planned.Of(p.Kyma, e.manifest.Name) != nil && !byUpstream {
		return
	}
	manifest := p.asInCatalog(e)
	switch {
	case manifest == nil:
	case byUpstream && installsTheSame(p.inOurForm(e.manifest), manifest):
		e.plan.Action, e.plan.Manifest, e.plan.Destination = ActionUpdate, manifest, destinationOf(manifest)
	case !Differs(e.manifest, manifest):
		e.plan.Destination, e.plan.Record = destinationOf(manifest), p.record(manifest)
	}
}

// asInCatalog returns the Manifest that the plan would write for the version that the entry's Manifest has. It returns
// nil if the catalog does not have that version, or if the version may not be installed.
func (p *planner) asInCatalog(e *entry) *v1beta2.Manifest {
	if e.mandatory || p.Pinned == nil {
		return nil
	}
	module := e.Module
	module.Version = e.manifest.Spec.Version
	was := &entry{Choice: versions.Choose(p.Kyma, p.Settings, module, "", p.Pinned(module)[module.Name], module.Version), manifest: e.manifest}
	was.Channel = e.manifest.Labels[shared.LabelChannel]
	p.identify(was)
	if was.Refusal != nil || was.component != e.manifest.ComponentName() {
		return nil
	}
	remote, refusal := p.target(was)
	if refusal == nil {
		refusal = p.describe(was)
	}
	if refusal != nil {
		return nil
	}
	manifest, refusal := p.manifestFor(was, remote)
	if refusal != nil {
		return nil
	}
	keepForm(e.manifest, manifest)
	return manifest
}

// installsTheSame reports whether two Manifests install the same layers and the same default custom resource.
func installsTheSame(a, b *v1beta2.Manifest) bool {
	return a.Spec.Version == b.Spec.Version && sameLayer(&a.Spec.Install.Source, &b.Spec.Install.Source) &&
		sameLayer(a.Spec.Config, b.Spec.Config) && sameJSON(a.Spec.Resource, b.Spec.Resource)
}

// sameLayer compares the fields that upstream writes. Upstream writes neither the media type nor the size of a layer,
// and its selector of credentials has no effect here.
func sameLayer(a, b *v1beta2.ImageSpec) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Repo == b.Repo && a.Name == b.Name && a.Ref == b.Ref && a.Type == b.Type
}

// IsUpstreams reports whether upstream wrote the spec of a Manifest. Upstream never sets spec.remote, and records which
// layer it installed in an annotation.
func IsUpstreams(m *v1beta2.Manifest) bool {
	return !m.Spec.Remote && m.Status.Target == nil && !desired.InControlPlane(m) &&
		m.Annotations[desired.AnnotationSpecDigest] == "" && m.Annotations[shared.AnnotationSyncOCIRef] != ""
}

// inOurForm returns a Manifest of upstream as we would write it for the same module. The caller may change the result.
func (p *planner) inOurForm(existing *v1beta2.Manifest) *v1beta2.Manifest {
	manifest := asPlanned(existing)
	manifest.Spec.Remote = true
	for _, image := range imagesOf(&manifest.Spec) {
		image.Repo = descriptor.InManifest(strings.TrimSuffix(image.Repo, "/"), image.Name, existing.ComponentName())
	}
	manifest.Annotations[desired.AnnotationRemoteNamespace] = p.Settings.SyncNamespace
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest
}
