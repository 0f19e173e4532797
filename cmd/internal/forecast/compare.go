package forecast

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// Kind is what would happen to a module of a Kyma.
type Kind string

// Kinds of changes.
const (
	Added      Kind = "added"
	Upgraded   Kind = "upgraded"
	Downgraded Kind = "downgraded"
	Removed    Kind = "removed"
	Refused    Kind = "refused"
	Accepted   Kind = "accepted" // no longer refused
	Waits      Kind = "waits for a maintenance window"
	Deferred   Kind = "put off by its owner"
	Guarded    Kind = "removal waits for approval"
	Changed    Kind = "changed" // in the same version
)

// verdict is the result of a plan for one module.
type verdict struct {
	Version, Reason, Message, Hint string
	kind                           Kind // Removed, Refused, Waits, Deferred, Guarded, or empty if the version decides
	spec                           string
	// manifest is the planned Manifest, or the present one. wanted is its version after all waits are over.
	manifest *v1beta2.Manifest
	wanted   string
}

// Change is what would happen to one module of one Kyma.
type Change struct {
	Kyma, Module    string
	Kind            Kind
	From, To        string
	Reason, Message string
	// Hint is what can be done about Message.
	Hint          string
	place         Placed
	before, after *v1beta2.Manifest
	wanted        string
}

// Side plans for Kymas with one state of the catalog.
type Side struct {
	Snapshot *Snapshot
	Planner  *resolve.Planner
}

// verdicts returns the results of the plan for a Kyma, by module.
func (s Side) verdicts(ctx context.Context, kyma *v1beta2.Kyma) (map[string]verdict, error) {
	var named v1beta2.ManifestList
	err := s.Snapshot.List(ctx, &named, client.InNamespace(kyma.Namespace), client.MatchingFields{fleet.IndexKymaName: kyma.Name})
	if err != nil {
		return nil, err
	}
	var own, foreign []v1beta2.Manifest
	for _, m := range named.Items {
		if planning.OwnedBy(&m, kyma) {
			own = append(own, m)
		} else {
			foreign = append(foreign, m)
		}
	}
	view, err := s.Planner.View(ctx, kyma, own, foreign, nil)
	if err != nil {
		return nil, err
	}
	all := map[string]verdict{}
	for _, plan := range slices.Concat(view.Modules, view.Mandatory) {
		if !plan.IsAgent() {
			all[plan.Name] = verdictOf(&plan)
		}
	}
	for _, m := range view.Unwanted {
		all[desired.EntryOf(m)] = verdict{kind: Removed, Version: m.Spec.Version, manifest: m}
	}
	for _, obsolete := range view.Obsolete {
		v := verdict{kind: Removed, Version: obsolete.Manifest.Spec.Version, manifest: obsolete.Manifest}
		if obsolete.Guarded != nil {
			v.kind, v.Message = Guarded, obsolete.Guarded.Message()
		}
		all[desired.EntryOf(obsolete.Manifest)] = v
	}
	return all, nil
}

func verdictOf(plan *planning.ModulePlan) verdict {
	v := verdict{manifest: plan.Existing, wanted: plan.Version}
	if plan.Existing != nil {
		v.Version = plan.Existing.Spec.Version
	}
	switch {
	case plan.Guarded != nil:
		v.kind, v.Message = Guarded, plan.Guarded.Message()
	case plan.Action == planning.ActionRemove:
		v.kind, v.Reason, v.Message, v.Hint = Removed, plan.Refusal.Reason, plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason)
	case plan.Refusal != nil:
		v.kind, v.Reason, v.Message, v.Hint = Refused, plan.Refusal.Reason, plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason)
	case plan.Deferred != nil:
		v.kind, v.Message = Deferred, plan.Deferred.Message
	case plan.Window != nil:
		v.kind, v.Message = Waits, nextWindow(plan.Window)
	case plan.Manifest != nil:
		v.manifest = plan.Manifest
		v.Version, v.spec = plan.Manifest.Spec.Version, desired.SpecDigest(plan.Manifest.Spec)
	case plan.Existing != nil:
		v.spec = desired.SpecDigest(plan.Existing.Spec)
	}
	return v
}

func nextWindow(w *planning.Wait) string {
	if w.Next.IsZero() {
		return w.Problem
	}
	return "the next window begins at " + w.Next.UTC().Format(time.RFC3339)
}

// Compare returns what would change for a Kyma. present is nil for a new Kyma.
func Compare(ctx context.Context, before, after Side, present, applied *v1beta2.Kyma) ([]Change, error) {
	now := map[string]verdict{}
	var err error
	if present != nil {
		if now, err = before.verdicts(ctx, present); err != nil {
			return nil, err
		}
	}
	then, err := after.verdicts(ctx, applied)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, module := range sets.List(sets.KeySet(now).Union(sets.KeySet(then))) {
		if kind := kindOfChange(now[module], then[module]); kind != "" {
			changes = append(changes, Change{
				Kyma: desired.NameOf(applied), Module: module, Kind: kind, From: now[module].Version, To: to(then[module]),
				Reason: then[module].Reason, Message: then[module].Message, Hint: then[module].Hint,
				before: now[module].manifest, after: then[module].manifest, wanted: then[module].wanted,
			})
		}
	}
	return changes, nil
}

func to(v verdict) string {
	if v.kind == Removed {
		return ""
	}
	return v.Version
}

func kindOfChange(now, then verdict) Kind {
	switch {
	case then.kind != now.kind && then.kind != "":
		return then.kind
	case then.kind != "":
		return "" // as before
	case now.Version == "" && then.Version != "":
		return Added
	case versions.IsDowngrade(now.Version, then.Version):
		return Downgraded
	case now.Version != then.Version:
		return Upgraded
	case now.kind != "":
		return Accepted
	case now.spec != then.spec:
		return Changed
	default:
		return ""
	}
}

// Group is what would happen to a module in the same way for several Kymas.
type Group struct {
	Module string `json:"module"`
	Kind   Kind   `json:"change"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Message is the message of the first Kyma.
	Message string `json:"message,omitempty"`
	// Hint is what can be done about Message.
	Hint  string `json:"hint,omitempty"`
	Kymas int    `json:"kymas"`
	// Names are the names of the first Kymas.
	Names []string `json:"names"`
	// Stages are the stages of the rollout that would bring the version.
	Stages []StageSize `json:"stages,omitempty"`
}

// namedKymas is how many Kymas of a group are named.
const namedKymas = 5

// Grouped groups equal changes, largest groups first.
func Grouped(changes []Change) []Group {
	type key struct {
		module           string
		kind             Kind
		from, to, reason string
	}
	groups := map[key]*Group{}
	for _, c := range changes {
		k := key{c.Module, c.Kind, c.From, c.To, c.Reason}
		g := groups[k]
		if g == nil {
			g = &Group{Module: c.Module, Kind: c.Kind, From: c.From, To: c.To, Reason: c.Reason, Message: c.Message, Hint: c.Hint}
			groups[k] = g
		}
		g.Kymas++
		if len(g.Names) < namedKymas {
			g.Names = append(g.Names, c.Kyma)
		}
		g.Stages = c.place.addTo(g.Stages)
	}
	all := make([]Group, 0, len(groups))
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Kymas, a.Kymas), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// isOurs reports whether this instance works on a Kyma.
func isOurs(settings desired.Settings, kyma *v1beta2.Kyma) bool {
	return settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma) && kyma.DeletionTimestamp.IsZero() && kyma.Labels[shared.LabelSkipReconciliation] != shared.ValueTrue
}
