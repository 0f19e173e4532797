package resolve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
)

// removalGuard checks every removal that a change of the catalog causes. No change removes a module from many Kymas at
// once before somebody approves it. Approved and small removals run at a limited rate.
type removalGuard struct {
	settings desired.Settings
	fleet    client.Reader
	budget   Budget
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

// countFor is how long a count of the fleet is cached, because one change needs it once for each Kyma.
const countFor = 5 * time.Second

func newRemovalGuard(options Options) *removalGuard {
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
	return &removalGuard{
		settings: options.Settings.WithDefaults(), fleet: options.Fleet, budget: options.Budget, limits: limits, now: time.Now,
		rate:   rate.NewLimiter(rate.Every(time.Minute/time.Duration(limits.PerMinute)), max(1, limits.PerMinute/6)),
		counts: map[string]count{},
	}
}

// check holds the removals in a Kyma's view if the catalog causes them and too many Kymas are affected.
func (g *removalGuard) check(ctx context.Context, kyma *v1beta2.Kyma, view *View) error {
	for i := range view.Modules {
		plan := &view.Modules[i]
		if plan.Action != planning.ActionRemove {
			continue
		}
		verdict, err := g.judge(ctx, causeOf(plan, kyma), plan.Existing, func(other *v1beta2.Kyma) bool {
			return g.settings.Denied(other, plan.Chosen, plan.ReleaseMeta) != ""
		})
		if err != nil {
			return err
		}
		plan.AffectedKymas, plan.RemovalApproved = verdict.affected, verdict.approved
		if verdict.guarded != nil {
			plan.Action, plan.Refusal, plan.Guarded = planning.ActionKeep, nil, verdict.guarded
		}
	}
	for i := range view.Obsolete {
		obsolete := &view.Obsolete[i]
		verdict, err := g.judge(ctx, obsolete.Cause, obsolete.Manifest, func(*v1beta2.Kyma) bool { return true })
		if err != nil {
			return err
		}
		obsolete.Guarded, obsolete.affectedKymas, obsolete.approved = verdict.guarded, verdict.affected, verdict.approved
	}
	return nil
}

// causeOf returns the object that forbids a module to a Kyma: the template if its own labels do, otherwise the module's
// release meta.
func causeOf(p *planning.ModulePlan, kyma *v1beta2.Kyma) client.Object {
	byTemplate := p.Chosen.Labels[shared.LabelInternal] == shared.ValueTrue && !kyma.IsInternal() ||
		p.Chosen.Labels[shared.LabelBeta] == shared.ValueTrue && !kyma.IsBeta()
	if p.ReleaseMeta == nil || byTemplate {
		return p.Chosen
	}
	return p.ReleaseMeta
}

// verdict is the guard's decision about one removal.
type verdict struct {
	// guarded is set if the removal must wait for an approval. approved is true if somebody has approved it.
	guarded  *planning.GuardedRemoval
	approved bool
	// affected is the number of Kymas that lose the module by the same change.
	affected int
}

// judge decides whether a removal must wait for an approval.
func (g *removalGuard) judge(ctx context.Context, cause client.Object, manifest *v1beta2.Manifest, isAffected func(*v1beta2.Kyma) bool) (verdict, error) {
	if g.fleet == nil || !manifest.DeletionTimestamp.IsZero() {
		return verdict{}, nil
	}
	change := changeOf(cause, g.settings)
	c, err := g.count(ctx, string(cause.GetUID())+change, componentKey(manifest), manifest.IsMandatory(), isAffected)
	if err != nil {
		return verdict{}, err
	}
	annotations := cause.GetAnnotations()
	noticed := annotations[desired.AnnotationGuardedChange] == change
	if !noticed && c.kymas <= c.limit {
		return verdict{affected: c.kymas}, nil
	}
	if held := annotations[desired.AnnotationGuardedRemoval]; noticed && held != "" && g.budget != nil {
		approved, err := g.budget.Approves(ctx, held, annotations[desired.AnnotationApprovedRemoval] == held)
		if err != nil {
			return verdict{}, err
		}
		if approved {
			return verdict{approved: true, affected: c.kymas}, nil
		}
	}
	return verdict{guarded: &planning.GuardedRemoval{Cause: cause, Change: change, Kymas: c.kymas, Limit: c.limit}, affected: c.kymas}, nil
}

// count returns how many Kymas would lose a module.
func (g *removalGuard) count(ctx context.Context, key, component string, mandatory bool, isAffected func(*v1beta2.Kyma) bool) (count, error) {
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
			if kyma := ours[owner.UID]; kyma != nil && kyma.DeletionTimestamp.IsZero() && isAffected(kyma) {
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

// changeOf returns a digest of everything in a template or release meta that decides who may have the module. The
// generation is part of the digest, so that an approval covers one change of the spec and no later change with the same
// effect.
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

// AwaitsApproval reports whether removals caused by the current version of a template or release meta wait for approval.
func AwaitsApproval(object client.Object, settings desired.Settings) bool {
	annotations := object.GetAnnotations()
	guarded := annotations[desired.AnnotationGuardedRemoval]
	return guarded != "" && !MarksAreOutdated(object, settings) && annotations[desired.AnnotationApprovedRemoval] != guarded
}

// MarksAreOutdated reports whether a template or release meta carries marks of a guarded removal that belong to an
// earlier change. These marks must be removed, or an approval of the earlier change would count for a later one.
func MarksAreOutdated(object client.Object, settings desired.Settings) bool {
	annotations := object.GetAnnotations()
	marked := annotations[desired.AnnotationGuardedChange] != "" || annotations[desired.AnnotationGuardedRemoval] != ""
	return marked && annotations[desired.AnnotationGuardedChange] != changeOf(object, settings)
}
