package drift

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// allModules selects the objects of all modules in a cluster.
const allModules = shared.LabelManagedBy + "=" + shared.ManagedByKyma + "," + shared.LabelPartOf + "=" + shared.PartOfKyma

// compareObjects compares the objects of a cluster's modules with what was recorded when they were applied. In one
// pass, it compares each module's share (sharesOf). If a kind of a module could not be read, compareObjects skips
// that module.
func (a *Prober) compareObjects(ctx context.Context, at *site, pass int, found *differences) error {
	shares, listed := sharesOf(at.modules, pass)
	surveyor := objects.Surveyor{
		Target:   objects.Target{Cluster: at.cluster, Mapper: kinds.Mapper{Cluster: at.cluster.Mapper}},
		Selector: selectorFor(at), InFull: objects.ReadInFull,
	}
	survey, err := surveyor.Read(ctx, listed)
	if err != nil {
		return err
	}
	marked := map[string][]objects.LiveObject{}
	for _, s := range survey.Seen {
		if mark := s.Meta.Annotations[shared.AnnotationOwnedBy]; mark != "" && inventory.InFingerprint(s.GVK.GroupKind(), s.Meta) {
			marked[mark] = append(marked[mark], s)
		}
	}
	autoscalers := readiness.NewAutoscalers(at.cluster)
	for _, s := range shares {
		m := s.manifest
		if err := unreadOf(m, survey); err != nil {
			found.fail(err)
			continue
		}
		differs, err := a.compareModule(ctx, s, marked[inventory.OwnerOf(m).Mark], survey, autoscalers)
		if err != nil {
			found.fail(err)
		}
		if differs != "" {
			found.add(m, differs)
		}
	}
	return nil
}

// selectorFor returns the selector for the objects of the modules in a cluster. The control plane also holds objects
// of other Kymas' modules, so there the selector names these modules.
func selectorFor(at *site) string {
	if !at.cluster.IsControlPlane() {
		return allModules
	}
	names := lists.Map(at.modules, func(m *v1beta2.Manifest) string { return m.Name })
	return allModules + "," + shared.LabelComponent + " in (" + strings.Join(names, ",") + ")"
}

// surveyedKinds returns the kinds of a module's objects that are compared. Jobs are not, because they run only once.
func surveyedKinds(m *v1beta2.Manifest) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for _, encoded := range m.Status.Kinds {
		if gvk, ok := kinds.Parse(encoded); ok && !kinds.IsJob(gvk.GroupKind()) {
			all = append(all, gvk)
		}
	}
	return all
}

// unreadOf returns the error of the first kind of the module that could not be read.
func unreadOf(m *v1beta2.Manifest, survey objects.Survey) error {
	for _, gvk := range surveyedKinds(m) {
		if err := survey.Failed[gvk.GroupKind()]; err != nil {
			return err
		}
	}
	return nil
}

// compareModule returns how a module's objects differ from the recorded ones; "" if they do not.
func (a *Prober) compareModule(
	ctx context.Context, of share, marked []objects.LiveObject, survey objects.Survey, autoscalers *readiness.Autoscalers,
) (string, error) {
	m := of.manifest
	if len(m.Status.Kinds) == 0 && m.Status.Counts != nil && m.Status.Counts.Total > 0 {
		// An older release installed the module and recorded nothing to compare with.
		return differsInKnowledge, nil
	}
	entries := make([]inventory.FingerprintEntry, len(marked))
	for i, s := range marked {
		entries[i] = inventory.FingerprintEntry{ID: s.ID, UID: string(s.Meta.UID), Hash: inventory.ObjectHash(s.Meta)}
	}
	recorded := m.Status.Fingerprint
	if of.kinds != nil {
		recorded = inventory.Fingerprint(of.of(m.Status.Inventory))
	}
	differing, compared := map[string]bool{}, true
	stale, err := a.isStale(ctx, m, marked)
	if err != nil {
		return "", err
	}
	if stale {
		return differsInSources, nil
	}
	if inventory.FingerprintOf(entries) != recorded {
		found, err := a.compareAgain(ctx, of, marked, survey)
		if err != nil {
			return "", err
		}
		if found.drifted {
			return differsInResources, nil
		}
		differing, compared = found.differing, !found.changed
	}
	switch {
	case compared && conflictEnds(of.corrections(), differing, a.steps.Options.Clock()):
		return differsInConflicts, nil
	case m.Status.Settled && holdsMore(m.Status.Corrections, marked):
		return differsInState, nil
	case m.Status.Settled:
		healthy, err := allHealthy(ctx, a.steps.Options.Settings.StateRule, autoscalers, marked)
		if err == nil && !healthy {
			return differsInState, nil
		}
		return "", err
	}
	return "", nil
}

// holdsMore reports whether a finalizer holds a deleted object while the status records no such object yet.
func holdsMore(corrections []v1beta2.Correction, marked []objects.LiveObject) bool {
	return !slices.ContainsFunc(corrections, readiness.IsTerminating) &&
		slices.ContainsFunc(marked, func(s objects.LiveObject) bool { return isHeld(s.Meta) })
}

// allHealthy reports whether all objects that count and were read in full are healthy.
func allHealthy(ctx context.Context, rule shared.StateRule, autoscalers *readiness.Autoscalers, marked []objects.LiveObject) (bool, error) {
	for _, s := range marked {
		if s.Full == nil || !readiness.Counts(rule, s.Full.GroupVersionKind().GroupKind()) {
			continue
		}
		if healthy, err := readiness.Healthy(ctx, autoscalers, s.Full, s.Meta); err != nil || !healthy {
			return false, err
		}
	}
	return true, nil
}

// comparison is the result of comparing a module object by object.
type comparison struct {
	// drifted is true if an object has to be corrected.
	drifted bool
	// differing holds the ids of objects in conflict that differ and must not be corrected yet.
	differing map[string]bool
	// changed is true if the Manifest has changed since it was cached.
	changed bool
}

// compareAgain compares object by object with the live Manifest. If the Manifest has changed since it was cached, a
// reconcile is in progress and the objects were read before it. The next pass then compares them.
func (a *Prober) compareAgain(ctx context.Context, of share, marked []objects.LiveObject, survey objects.Survey) (comparison, error) {
	cached := of.manifest
	m, err := a.steps.Read(ctx, kick.RefOf(cached))
	if err != nil {
		return comparison{}, err
	}
	if !manifests.StillComparable(m, cached) {
		return comparison{changed: true}, nil
	}
	if unknown := unknownTo(m.Status.Inventory, marked); len(unknown) > 0 {
		a.steps.Recorder.UnknownObjects(m, unknown)
	}
	found := comparison{differing: map[string]bool{}}
	now := a.steps.Options.Clock()
	for _, e := range driftedFrom(of.of(m.Status.Inventory), survey.Seen) {
		s, there := survey.Seen[e.ID]
		gone := !there || string(s.Meta.UID) != e.UID
		if _, waits := readiness.Waiting(m.Status.Corrections, e.ID, gone, now); !waits {
			return comparison{drifted: true}, nil
		}
		found.differing[e.ID] = true
	}
	return found, nil
}

// driftedFrom returns the entries of objects that differ from what was applied: deleted, created again, changed, or
// no longer ours. An object that the module no longer has counts only if it has been deleted.
func driftedFrom(entries []v1beta2.InventoryEntry, seen map[string]objects.LiveObject) []v1beta2.InventoryEntry {
	var all []v1beta2.InventoryEntry
	for _, e := range entries {
		if e.Hash == "" || inventory.RunsOnce(e) {
			continue
		}
		s, there := seen[e.ID]
		if !there || !e.Leaving && (string(s.Meta.UID) != e.UID || inventory.ObjectHash(s.Meta) != e.Hash) {
			all = append(all, e)
		}
	}
	return all
}

// Drifted returns the objects of a module that differ from what was applied, as "Kind namespace/name". gone holds
// objects that were deleted or lost our labels; changed holds objects that changed. Drifted reads their metadata with
// one LIST per kind. It leaves out an object in conflict until the object may be corrected again.
func Drifted(ctx context.Context, target objects.Target, now time.Time) (gone, changed []string, err error) {
	m := target.Manifest
	listed := lists.By(surveyedKinds(m), func(gvk schema.GroupVersionKind) schema.GroupKind { return gvk.GroupKind() })
	surveyor := objects.Surveyor{Target: target, Selector: target.Owner.Selector(), InFull: objects.NothingInFull}
	survey, err := surveyor.Read(ctx, listed)
	if err == nil {
		err = unreadOf(m, survey)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range driftedFrom(m.Status.Inventory, survey.Seen) {
		gvk, name, err := e.Object()
		_, there := survey.Seen[e.ID]
		_, waits := readiness.Waiting(m.Status.Corrections, e.ID, !there, now)
		switch {
		case err != nil || e.Leaving || there && waits:
		case there:
			changed = append(changed, objects.Describe(gvk.Kind, name))
		default:
			gone = append(gone, objects.Describe(gvk.Kind, name))
		}
	}
	return gone, changed, nil
}

// unknownTo returns the objects with our ownership annotation that are not in the inventory, as "Kind
// namespace/name".
func unknownTo(entries []v1beta2.InventoryEntry, marked []objects.LiveObject) []string {
	known := lists.Set(entries, func(e v1beta2.InventoryEntry) string { return e.ID })
	var all []string
	for _, s := range marked {
		if !known[s.ID] {
			all = append(all, s.String())
		}
	}
	return all
}
