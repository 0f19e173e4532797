package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Hold says why a removal is held.
type Hold struct {
	// Cause is the template or release meta whose change would remove too much.
	Cause client.Object
	// Change is the digest of what the change is about.
	Change string
	// Kymas would lose the module, Limit is how many may without approval.
	Kymas, Limit int
}

// Message is for people.
func (h *Hold) Message() string {
	return fmt.Sprintf("its removal from %d Kymas (more than %d) is held: approve it on %s %s with the annotation %s, whose value is that of %s there",
		h.Kymas, h.Limit, kindOf(h.Cause), nameOf(h.Cause), desired.AnnotationApproveRemoval, desired.AnnotationHeldRemoval)
}

// ManifestsByComponent is the name of the cache index of Manifests by their component.
const ManifestsByComponent = "lifecycle-manager.manifest-component"

// RegisterIndex makes the index ManifestsByComponent.
func RegisterIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1beta2.Manifest{}, ManifestsByComponent, IndexManifestByComponent)
	if err != nil {
		return fmt.Errorf("index Manifests by component: %w", err)
	}
	return nil
}

// IndexManifestByComponent computes the index ManifestsByComponent.
func IndexManifestByComponent(object client.Object) []string {
	if manifest, ok := object.(*v1beta2.Manifest); ok {
		return []string{componentKey(manifest)}
	}
	return nil
}

// componentKey is the component of a Manifest, or its entry's name where it does not say.
func componentKey(manifest *v1beta2.Manifest) string {
	return cmp.Or(manifest.ComponentName(), desired.EntryOf(manifest))
}

// gate is what every removal passes that a change of the catalog causes: no change removes a module from many
// Kymas at once before somebody approved it, and what is removed is so at a limited rate.
type gate struct {
	settings desired.Settings
	fleet    client.Reader
	limits   Limits
	rate     *rate.Limiter
	now      func() time.Time

	mu     sync.Mutex
	counts map[string]count
}

type count struct {
	kymas, limit int
	at           time.Time
}

// countFor is how long a count of the fleet is used: a change looks at it once for each Kyma.
const countFor = 5 * time.Second

func newGate(options Options) *gate {
	limits := options.Limits
	if limits.Kymas <= 0 {
		limits.Kymas = 10
	}
	if limits.Percent <= 0 {
		limits.Percent = 5
	}
	if limits.PerMinute <= 0 {
		limits.PerMinute = 60
	}
	return &gate{
		settings: options.Settings.WithDefaults(), fleet: options.Fleet, limits: limits, now: time.Now,
		rate:   rate.NewLimiter(rate.Every(time.Minute/time.Duration(limits.PerMinute)), max(1, limits.PerMinute/6)),
		counts: map[string]count{},
	}
}

// look holds those removals of a Kyma's view that the catalog causes and that are too many.
func (g *gate) look(ctx context.Context, kyma *v1beta2.Kyma, view *View) error {
	for i := range view.Modules {
		plan := &view.Modules[i]
		if plan.Action != ActionRemove {
			continue
		}
		held, atOnce, err := g.held(ctx, plan.cause(kyma), plan.Existing, func(other *v1beta2.Kyma) bool {
			return g.settings.Denied(other, plan.template, plan.meta) != ""
		})
		if err != nil {
			return err
		}
		plan.atOnce = atOnce
		if held != nil {
			plan.Action, plan.Refusal, plan.Held = ActionKeep, nil, held
		}
	}
	for i := range view.Leaving {
		leaving := &view.Leaving[i]
		held, atOnce, err := g.held(ctx, leaving.Cause, leaving.Manifest, func(*v1beta2.Kyma) bool { return true })
		if err != nil {
			return err
		}
		leaving.Held, leaving.atOnce = held, atOnce
	}
	return nil
}

// cause is what forbids a module to a Kyma: the template where its own labels do, else the release meta of its module.
func (p *ModulePlan) cause(kyma *v1beta2.Kyma) client.Object {
	byTemplate := p.template.Labels[shared.LabelInternal] == shared.ValueTrue && !kyma.IsInternal() ||
		p.template.Labels[shared.LabelBeta] == shared.ValueTrue && !kyma.IsBeta()
	if p.meta == nil || byTemplate {
		return p.template
	}
	return p.meta
}

// held tells whether a removal must wait for approval; nil when it need not. atOnce is how many Kymas lose the
// module by the same change.
func (g *gate) held(ctx context.Context, cause client.Object, manifest *v1beta2.Manifest, concerned func(*v1beta2.Kyma) bool) (_ *Hold, atOnce int, _ error) {
	if g.fleet == nil || !manifest.DeletionTimestamp.IsZero() {
		return nil, 0, nil
	}
	change := changeOf(cause, g.settings)
	c, err := g.count(ctx, string(cause.GetUID())+change, componentKey(manifest), manifest.IsMandatory(), concerned)
	if err != nil {
		return nil, 0, err
	}
	annotations := cause.GetAnnotations()
	noticed := annotations[desired.AnnotationHeldChange] == change
	approved := noticed && annotations[desired.AnnotationHeldRemoval] != "" &&
		annotations[desired.AnnotationApproveRemoval] == annotations[desired.AnnotationHeldRemoval]
	if approved || !noticed && c.kymas <= c.limit {
		return nil, c.kymas, nil
	}
	return &Hold{Cause: cause, Change: change, Kymas: c.kymas, Limit: c.limit}, c.kymas, nil
}

// count counts the Kymas that would lose a module.
func (g *gate) count(ctx context.Context, key, component string, mandatory bool, concerned func(*v1beta2.Kyma) bool) (count, error) {
	key = fmt.Sprintf("%s %s %t", key, component, mandatory)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if known, ok := g.counts[key]; ok && now.Sub(known.at) < countFor {
		return known, nil
	}
	var kymas v1beta2.KymaList
	if err := g.fleet.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
		return count{}, fmt.Errorf("count the Kymas: %w", err)
	}
	ours := map[types.UID]*v1beta2.Kyma{}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if g.settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma) {
			ours[kyma.UID] = kyma
		}
	}
	var manifests v1beta2.ManifestList
	if err := g.fleet.List(ctx, &manifests, client.MatchingFields{ManifestsByComponent: component}, client.UnsafeDisableDeepCopy); err != nil {
		return count{}, fmt.Errorf("count the Manifests of component %s: %w", component, err)
	}
	c := count{at: now, limit: min(g.limits.Kymas, max(1, len(ours)*g.limits.Percent/100))}
	for i := range manifests.Items {
		manifest := &manifests.Items[i]
		if !manifest.DeletionTimestamp.IsZero() || manifest.IsMandatory() != mandatory || manifest.IsUnmanaged() {
			continue
		}
		for _, owner := range manifest.OwnerReferences {
			if kyma := ours[owner.UID]; kyma != nil && kyma.DeletionTimestamp.IsZero() && concerned(kyma) {
				c.kymas++
			}
		}
	}
	for old, known := range g.counts {
		if now.Sub(known.at) >= countFor {
			delete(g.counts, old)
		}
	}
	g.counts[key] = c
	return c, nil
}

// changeOf is the digest of what of a template or release meta decides about who may have a module. Its generation is
// in it, so that an approval is for one change of the spec and not for all that lead to the same.
func changeOf(cause client.Object, settings desired.Settings) string {
	labels := cause.GetLabels()
	module := ""
	switch object := cause.(type) {
	case *v1beta2.ModuleReleaseMeta:
		module = desired.ReleaseMetaModule(object)
	case *v1beta2.ModuleTemplate:
		module = desired.ModuleNameOf(object)
	}
	return desired.DigestOf(
		cause.GetGeneration(), !cause.GetDeletionTimestamp().IsZero(),
		labels[shared.LabelBeta], labels[shared.LabelInternal], labels[shared.LabelMandatoryModule],
		slices.Contains(settings.RestrictedModules, module),
	)
}

// IsHeld tells whether removals are held because of a template or release meta as it is now.
func IsHeld(object client.Object, settings desired.Settings) bool {
	annotations := object.GetAnnotations()
	held := annotations[desired.AnnotationHeldRemoval]
	return held != "" && !HoldIsOver(object, settings) && annotations[desired.AnnotationApproveRemoval] != held
}

// HoldIsOver tells whether a template or release meta carries the marks of a hold that was about another change than
// the present one: they must go, for an approval among them would be taken for that of a later change.
func HoldIsOver(object client.Object, settings desired.Settings) bool {
	annotations := object.GetAnnotations()
	marked := annotations[desired.AnnotationHeldChange] != "" || annotations[desired.AnnotationHeldRemoval] != ""
	return marked && annotations[desired.AnnotationHeldChange] != changeOf(object, settings)
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *v1beta2.ModuleReleaseMeta:
		return shared.KindModuleReleaseMeta
	case *v1beta2.ModuleTemplate:
		return shared.KindModuleTemplate
	}
	return meta.AsPartialObjectMetadata(object).Kind
}
