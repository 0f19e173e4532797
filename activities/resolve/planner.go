package resolve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// parsedDescriptors is how many parsed descriptors a Planner caches. It is more than the versions in use in a catalog.
const parsedDescriptors = 2048

// Planner gathers the inputs of a plan and makes the plan. It writes nothing.
type Planner struct {
	Options
	guard  *removalGuard
	parsed *lately.Cache[[sha256.Size]byte, parsedDescriptor]
}

type parsedDescriptor struct {
	descriptor *versions.Descriptor
	err        error
}

// NewPlanner returns a Planner. Share one Planner, so that each descriptor is parsed once.
func NewPlanner(options Options) (*Planner, error) {
	if options.Catalog == nil || options.ControlPlane == nil || options.Descriptors == nil {
		return nil, errors.New("resolve: Catalog, ControlPlane and Descriptors must not be nil")
	}
	if options.Known == nil {
		options.Known = fleet.Live(options.ControlPlane)
	}
	options.Settings = options.Settings.WithDefaults()
	return &Planner{options, newRemovalGuard(options), lately.New[[sha256.Size]byte, parsedDescriptor](parsedDescriptors)}, nil
}

// View makes a plan for a Kyma and its Manifests. manifests are all Manifests of the Kyma. foreign are the Manifests of
// an earlier Kyma with the same name. If the catalog's cache is older than a version in seen, View reads the catalog
// live.
func (p *Planner) View(ctx context.Context, kyma *v1beta2.Kyma, manifests, foreign []v1beta2.Manifest, seen []desired.Seen) (View, error) {
	index, err := desired.Fresh(ctx, desired.NewCached(p.Catalog), p.Catalog, p.ControlPlane, seen)
	if err != nil {
		return View{}, err
	}
	view := View{Sync: desired.SyncOf(kyma, p.Settings)}
	view.Wanted = desired.WantedBy(kyma, view.Sync)
	catalog, err := desired.Gather(ctx, index, p.Settings, view.Wanted)
	if err != nil {
		return View{}, err
	}
	if err := p.Known.AwaitSecrets(ctx, seen); err != nil {
		return View{}, err
	}
	secrets, err := desired.Secrets(ctx, p.Known, p.PullSecret, p.Settings, kyma)
	if err != nil {
		return View{}, err
	}
	trusted, err := p.fingerprint(ctx)
	if err != nil {
		return View{}, err
	}
	planned, version, certificate, err := p.agent(ctx, kyma, view.Sync)
	if err != nil {
		return View{}, err
	}
	view.InputsDigest = desired.InputsDigest(kyma, p.Settings, catalog, append(secrets, certificate...), trusted, version)
	going, err := desired.GatherDelisted(ctx, index, p.Settings, view.Wanted, manifests)
	if err != nil {
		return View{}, err
	}
	view.Plans = planning.Plan(planning.Request{
		Kyma: kyma, Settings: p.Settings, Wanted: view.Wanted, Catalog: catalog, Delisted: going,
		Manifests: manifests, Foreign: foreign, Window: p.window(kyma), Now: p.guard.now(), Owners: p.owners(ctx),
		Describe: func(template *v1beta2.ModuleTemplate, component, version string) (*versions.Descriptor, error) {
			return p.describe(ctx, template, component, version)
		},
		DefaultCR: p.defaultCRs(ctx), Known: p.offered(ctx, kyma), Agent: planned,
		Pinned: func(module v1beta2.Module) desired.Catalog {
			wanted := view.Wanted
			wanted.Modules = []v1beta2.Module{module}
			found, err := desired.Gather(ctx, index, p.Settings, wanted)
			if err != nil {
				return nil // the next plan decides about what cannot be read now
			}
			return found
		},
		Signed: p.Signatures != nil && p.Signatures.Required(),
	})
	if view.Obsolete, err = p.obsolete(ctx, index, view.NotMandatory); err != nil {
		return View{}, err
	}
	if err := p.guard.check(ctx, kyma, &view); err != nil {
		return View{}, err
	}
	return view, nil
}

// obsolete returns the Manifests whose modules are no longer mandatory, if an object in the catalog says so. Nothing is
// removed only because something was not found.
func (p *Planner) obsolete(ctx context.Context, index desired.Index, manifests []*v1beta2.Manifest) ([]Obsolete, error) {
	var all []Obsolete
	for _, manifest := range manifests {
		cause, err := desired.NoLongerMandatory(ctx, index, p.Settings, desired.EntryOf(manifest))
		if err != nil {
			return nil, err
		}
		if cause != nil {
			all = append(all, Obsolete{Manifest: manifest, Cause: cause})
		}
	}
	return all, nil
}

// window returns a function that reports whether a Kyma's modules may be down now. It asks at most once per reconcile.
func (p *Planner) window(kyma *v1beta2.Kyma) func() planning.Wait {
	if p.Windows == nil {
		return nil
	}
	return sync.OnceValue(func() planning.Wait { return p.Windows.Window(kyma.Labels) })
}

// offered returns a function that lists the modules a Kyma may have, from the cache and at most once per reconcile. The
// list is used for hints only: if it cannot be read, nothing is suggested.
func (p *Planner) offered(ctx context.Context, kyma *v1beta2.Kyma) func() []string {
	return sync.OnceValue(func() []string {
		var metas v1beta2.ModuleReleaseMetaList
		var templates v1beta2.ModuleTemplateList
		if p.Catalog.List(ctx, &metas, client.UnsafeDisableDeepCopy) != nil || p.Catalog.List(ctx, &templates, client.UnsafeDisableDeepCopy) != nil {
			return nil
		}
		return p.Settings.ModulesFor(kyma, templates.Items, metas.Items)
	})
}

// describe returns the descriptor that a template embeds, or fetches it.
func (p *Planner) describe(ctx context.Context, template *v1beta2.ModuleTemplate, component, version string) (*versions.Descriptor, error) {
	if !descriptor.IsEmpty(template.Spec.Descriptor) {
		return p.accept(ctx, template, template.Spec.Descriptor.Raw)
	}
	if p.Settings.DescriptorRepository == "" {
		return nil, fmt.Errorf("%w: the template embeds none, and no registry to fetch it from is configured; set --oci-registry-host or --oci-registry-cred-secret", versions.ErrDescriptor)
	}
	raw, err := p.Descriptors.FetchDescriptor(ctx, p.Settings.DescriptorRepository, component, version)
	if err != nil {
		return nil, fmt.Errorf("fetch the descriptor of %s:%s: %w", component, version, err)
	}
	return p.accept(ctx, template, raw)
}

// defaultCRs returns a function that fetches default custom resources from layers, or nil if there is no source for them.
func (p *Planner) defaultCRs(ctx context.Context) func(v1beta2.ImageSpec) ([]byte, error) {
	if p.Objects == nil {
		return nil
	}
	return func(layer v1beta2.ImageSpec) ([]byte, error) {
		return p.Objects.FetchObject(ctx, artifacts.Layer{
			Repository: layer.Repo, Name: layer.Name, Digest: layer.Ref, Artifact: layer.MediaType == descriptor.ArtifactMediaType,
		})
	}
}

// accept verifies the signature of a descriptor before trusting its content.
func (p *Planner) accept(ctx context.Context, template *v1beta2.ModuleTemplate, raw []byte) (*versions.Descriptor, error) {
	if p.Signatures != nil {
		if err := p.Signatures.Verify(ctx, raw, template.Labels); err != nil {
			return nil, err
		}
	}
	return p.parse(raw)
}

func (p *Planner) fingerprint(ctx context.Context) (string, error) {
	if p.Signatures == nil {
		return "", nil
	}
	return p.Signatures.Fingerprint(ctx)
}

// parse parses each descriptor once, no matter how many Kymas use it. The result is shared.
func (p *Planner) parse(raw []byte) (*versions.Descriptor, error) {
	key := sha256.Sum256(raw)
	if known, ok := p.parsed.Get(key); ok {
		return known.descriptor, known.err
	}
	parsed, err := versions.ParseDescriptor(raw)
	p.parsed.Add(key, parsedDescriptor{parsed, err})
	return parsed, err
}

// owners returns a function that lists the Manifests of a component from the cache of the fleet.
func (p *Planner) owners(ctx context.Context) func(component string) ([]v1beta2.Manifest, error) {
	if p.guard.fleet == nil {
		return nil
	}
	return func(component string) ([]v1beta2.Manifest, error) {
		var list v1beta2.ManifestList
		err := p.guard.fleet.List(ctx, &list, client.MatchingFields{ManifestsByComponent: component}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("list the Manifests of component %s: %w", component, err)
		}
		return list.Items, nil
	}
}

// agent returns the desired agent of a Kyma, a string that represents it in the inputs digest, and the version of the
// agent's certificate. If the desired agent is not known, the returned refusal tells people why, and the installed agent
// stays.
func (p *Planner) agent(ctx context.Context, kyma *v1beta2.Kyma, in desired.Sync) (planning.Agent, string, []desired.SecretVersion, error) {
	if p.Agents == nil || !in.Enabled {
		return planning.Agent{}, "", nil, nil
	}
	certificate, err := p.Agents.Certificate(ctx, kyma)
	if err != nil {
		return planning.Agent{}, "", nil, err
	}
	secrets := []desired.SecretVersion{certificate}
	spec, err := p.Agents.Spec(ctx)
	if err == nil {
		return planning.Agent{Spec: &spec}, spec.Version(), secrets, nil
	}
	f := fault.Of(err)
	if f.Kind != fault.Rejected && f.Kind != fault.Pending {
		return planning.Agent{}, "", nil, err
	}
	refusal := versions.Refuse(f.Reason, "%s", f.Message)
	refusal.Hint = f.Hint
	return planning.Agent{Refusal: refusal}, agent.Unknown(f.Reason), secrets, nil
}
