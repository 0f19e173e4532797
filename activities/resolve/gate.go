package resolve

import (
	"cmp"
	"context"
	"fmt"
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
	return cmp.Or(manifest.ComponentName(), entryOf(manifest))
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

// look holds those removals of a view that the catalog causes and that are too many.
func (g *gate) look(ctx context.Context, view *View) error {
	for i := range view.Modules {
		plan := &view.Modules[i]
		if plan.Action != ActionRemove {
			continue
		}
		held, err := g.held(ctx, plan.cause(), plan.Existing, func(kyma *v1beta2.Kyma) bool {
			return g.settings.Denied(kyma, plan.template, plan.meta) != ""
		})
		if err != nil {
			return err
		}
		if held != nil {
			plan.Action, plan.Refusal, plan.Held = ActionKeep, nil, held
		}
	}
	for i := range view.Leaving {
		leaving := &view.Leaving[i]
		held, err := g.held(ctx, leaving.Cause, leaving.Manifest, func(*v1beta2.Kyma) bool { return true })
		if err != nil {
			return err
		}
		leaving.Held = held
	}
	return nil
}

// cause is what forbids a module to a Kyma: the release meta of its module where there is one, for it has the
// word, else the template.
func (p *ModulePlan) cause() client.Object {
	if p.meta != nil {
		return p.meta
	}
	return p.template
}

// held tells whether a removal must wait for approval; nil when it need not.
func (g *gate) held(ctx context.Context, cause client.Object, manifest *v1beta2.Manifest, concerned func(*v1beta2.Kyma) bool) (*Hold, error) {
	if g.fleet == nil || !manifest.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	change := changeOf(cause)
	annotations := cause.GetAnnotations()
	noticed := annotations[desired.AnnotationHeldChange] == change
	if noticed && annotations[desired.AnnotationApproveRemoval] == annotations[desired.AnnotationHeldRemoval] {
		return nil, nil
	}
	c, err := g.count(ctx, string(cause.GetUID())+change, componentKey(manifest), manifest.IsMandatory(), concerned)
	if err != nil {
		return nil, err
	}
	if !noticed && c.kymas <= c.limit {
		return nil, nil
	}
	return &Hold{Cause: cause, Change: change, Kymas: c.kymas, Limit: c.limit}, nil
}

// count counts the Kymas that would lose a module.
func (g *gate) count(ctx context.Context, key, component string, mandatory bool, concerned func(*v1beta2.Kyma) bool) (count, error) {
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

// changeOf is the digest of what of a template or release meta decides about who may have a module.
func changeOf(cause client.Object) string {
	labels := cause.GetLabels()
	values := []any{
		labels[shared.LabelBeta], labels[shared.LabelInternal], labels[shared.LabelMandatoryModule], !cause.GetDeletionTimestamp().IsZero(),
	}
	switch object := cause.(type) {
	case *v1beta2.ModuleReleaseMeta:
		values = append(values, object.Spec.Beta, object.Spec.Internal, object.Spec.KymaSelector, object.Spec.Mandatory != nil)
	case *v1beta2.ModuleTemplate:
		values = append(values, object.Spec.Mandatory)
	}
	return desired.DigestOf(values...)
}

// IsHeld tells whether removals are held because of a template or release meta as it is now.
func IsHeld(object client.Object) bool {
	annotations := object.GetAnnotations()
	held := annotations[desired.AnnotationHeldRemoval]
	return held != "" && annotations[desired.AnnotationHeldChange] == changeOf(object) &&
		annotations[desired.AnnotationApproveRemoval] != held
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
