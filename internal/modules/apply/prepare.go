package apply

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

func adaptationOf(m *v1beta2.Manifest, remoteNamespace string) bundle.Adaptation {
	by := bundle.Adaptation{Images: m.Spec.LocalizedImages}
	if name := m.Annotations[desired.AnnotationImagePullSecret]; name != "" && m.Spec.Remote {
		by.PullSecret, by.Manager, by.RemoteNamespace = name, m.Spec.Manager, remoteNamespace
	}
	return by
}

// Installation holds the work of one reconcile of one Manifest.
type Installation struct {
	objects.Target
	Plan bundle.Plan
	// RemoteNamespace is the namespace of objects that name none. ensureRemoteNamespace creates it once per reconcile,
	// because objects that are applied in parallel find it missing at the same time.
	RemoteNamespace       string
	ensureRemoteNamespace func() error
	// Repair holds what is known about the objects from earlier reconciles.
	Repair drift.Repair
	// Begins is the state of the module from the moment when the first object is applied.
	Begins readiness.Observed
	// Refused holds objects of the plan that must not be applied, for example because they belong to other modules.
	// Yielded holds the ids of the objects among them that leave our inventory.
	Refused []bundle.Failure
	Yielded map[string]bool
	// First is true if no earlier apply is known. began is the start of this reconcile.
	First bool
	began time.Time
	// Silent lists APIs for which the cluster did not say whether it serves them. The rendering may lack objects that
	// depend on them.
	Silent []string
	// Intent is the status change for the intended inventory if it was not written on its own. It is then written
	// together with the result.
	Intent func(*v1beta2.ManifestStatus)
	// AsOf is when the Manifest was last read live, or written without a conflict.
	AsOf time.Time
	// Until is the time after which no further object is begun, except for the first.
	Until time.Time
	begun atomic.Bool
	// replaced names the objects that were deleted and created again.
	replaced  []string
	replacing sync.Mutex
	// Met is true if an object had existed long before it was applied.
	Met atomic.Bool
}

// Prepare does everything that needs no write: it connects to the cluster, fetches and renders the layers, and maps
// each kind to its API.
func (a *Applier) Prepare(ctx context.Context, m *v1beta2.Manifest) (*Installation, error) {
	target := a.steps.Target
	if IsQuick(ctx) {
		target = a.steps.Reach // A synchronization has just read the access secret.
	}
	cluster, err := target(ctx, m)
	if err != nil {
		return nil, err
	}
	b, silent, err := a.bundleFor(ctx, m, cluster)
	if err != nil {
		return nil, err
	}
	job := &Installation{
		Target: objects.NewTarget(m, cluster, b.Definitions), RemoteNamespace: a.steps.RemoteNamespace(m), Begins: installing(m, b.LeftOut),
		First: len(m.Status.Inventory) == 0, began: a.steps.Options.Clock(), Silent: silent,
	}
	if job.Plan, err = bundle.PlanOf(ctx, m, b, job.Mapper, job.RemoteNamespace); err != nil {
		return nil, clusters.Classify(err)
	}
	if IsQuick(ctx) && len(job.Plan.Before)+len(job.Plan.After) > 0 {
		return nil, ErrLater
	}
	if err := a.inject(ctx, job); err != nil {
		return nil, err
	}
	job.Refused = job.Plan.Refused
	job.ensureRemoteNamespace = sync.OnceValue(func() error { return objects.EnsureNamespace(ctx, cluster, job.RemoteNamespace) })
	return job, nil
}

// sourceOf returns what the Manifest is rendered from.
func sourceOf(m *v1beta2.Manifest, remoteNamespace string) artifacts.Source {
	source := artifacts.Source{
		Install: layerOf(m, m.Spec.Install.Source),
		Release: render.Release{Name: m.ModuleName(), Namespace: remoteNamespace},
	}
	source.Release.Name = cmp.Or(source.Release.Name, m.Spec.Install.Name)
	switch m.Spec.Install.Source.Type {
	case v1beta2.ImageSourceHelmChart:
		source.Form = artifacts.FormChart
	case v1beta2.ImageSourceOCIDir:
		source.Form = artifacts.FormDirectory
	case v1beta2.ImageSourceOCIRef:
		// Older Manifests have charts as oci-ref. The media type identifies them.
		if source.Form = artifacts.FormAny; m.Spec.Install.Source.MediaType == artifacts.ChartMediaType {
			source.Form = artifacts.FormChart
		}
	}
	if m.Spec.Config != nil {
		source.Config = new(layerOf(m, *m.Spec.Config))
	}
	return source
}

func layerOf(m *v1beta2.Manifest, image v1beta2.ImageSpec) artifacts.Layer {
	return artifacts.Layer{
		Repository: descriptor.FromManifest(image.Repo, image.Name, m.ComponentName()), Name: image.Name, Digest: image.Ref, Artifact: image.MediaType == descriptor.ArtifactMediaType,
	}
}

// installing returns the state of a module during its installation. Its message names the chart's hooks and tests
// that are never run.
func installing(m *v1beta2.Manifest, leftOut []string) readiness.Observed {
	verb := "installing"
	if m.Status.InstalledVersion != "" && m.Status.InstalledVersion != m.Spec.Version {
		verb = "upgrading from " + m.Status.InstalledVersion + " to"
	}
	message := verb + " version " + m.Spec.Version
	if len(leftOut) > 0 {
		message += ", without the chart's hooks that never run: " + objects.FirstOf(leftOut)
	}
	return readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonInstalling, Message: message}
}

// bundleFor returns the objects of a Manifest, and the APIs for which the cluster did not say whether it serves them.
// The objects of an agent are compiled into this build; the objects of a module are in its layers.
func (a *Applier) bundleFor(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster) (*bundle.Bundle, []string, error) {
	spec, isAgent, err := agent.Of(m)
	if err != nil {
		return nil, nil, err
	}
	by := adaptationOf(m, a.steps.RemoteNamespace(m))
	if isAgent {
		namespace := a.steps.RemoteNamespace(m)
		b, err := a.bundles.Get(ctx, "agent|"+namespace+"|"+spec.Version()+by.Key(), func(context.Context) (*bundle.Bundle, int64, error) {
			objects, err := spec.Objects(namespace)
			if err != nil {
				return nil, 0, err
			}
			return bundle.Build(&render.Rendered{Objects: objects}, by)
		})
		return b, nil, err
	}
	source := sourceOf(m, a.steps.RemoteNamespace(m))
	if IsQuick(ctx) && !a.Options.Artifacts.Knows(source) {
		return nil, nil, ErrLater
	}
	request, err := a.Options.Artifacts.Prepare(ctx, source, cluster)
	if err != nil {
		return nil, nil, clusters.Classify(err)
	}
	if IsQuick(ctx) && !a.hasRendered(request, by.Key()) {
		return nil, nil, ErrLater
	}
	b, err := a.bundleOf(ctx, request, by)
	return b, request.Silent, err
}

// bundleOf returns the bundle of a render request. Each bundle is built once and cached.
func (a *Applier) bundleOf(ctx context.Context, request *artifacts.RenderRequest, by bundle.Adaptation) (*bundle.Bundle, error) {
	rendered := &atomic.Bool{}
	defer func() { a.Options.Artifacts.RenderingAsked(!rendered.Load()) }()
	return a.bundles.Get(ctx, request.Key+by.Key(), func(ctx context.Context) (*bundle.Bundle, int64, error) {
		rendered.Store(true)
		all, err := request.Render(ctx)
		if err != nil {
			return nil, 0, err
		}
		return bundle.Build(all, by)
	})
}

type quicklyKey struct{}

// ErrLater means that the work takes longer than the caller of Quickly wants to wait. Nothing was done.
var ErrLater = errors.New("the work takes longer than a workflow task may")

// Quickly returns a context in which Prepare returns ErrLater if it would have to fetch or render layers, or if there
// are hooks to run.
func Quickly(ctx context.Context) context.Context { return context.WithValue(ctx, quicklyKey{}, true) }

// IsQuick reports whether a context comes from Quickly.
func IsQuick(ctx context.Context) bool { return ctx.Value(quicklyKey{}) != nil }

// hasRendered reports whether the bundle of a render request is cached.
func (a *Applier) hasRendered(request *artifacts.RenderRequest, adaptation string) bool {
	_, known := a.bundles.Peek(request.Key + adaptation)
	return known
}
