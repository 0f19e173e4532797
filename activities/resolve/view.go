package resolve

import (
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/origin"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// View holds what a Kyma asks for and the resulting plan, at one moment.
type View struct {
	Sync         desired.Sync
	Wanted       desired.Wanted
	InputsDigest string
	planning.Plans
	// absent are the names of Manifests that a live read did not find.
	absent []string
	// Obsolete are the Manifests of modules that are no longer mandatory, each with the object that says so.
	Obsolete []Obsolete
}

// Obsolete is the Manifest of a module that is no longer mandatory.
type Obsolete struct {
	Manifest *v1beta2.Manifest
	// Cause is the release meta or template that says so.
	Cause client.Object
	// Guarded is set while the removal waits for approval.
	Guarded       *planning.GuardedRemoval
	approved      bool
	affectedKymas int
}

// causedBy annotates the planned Manifests with their cause: the time of the change, its trace, and whether the work is a
// background task.
func (v View) causedBy(in Input, trace string) {
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		if plan.Manifest == nil {
			continue
		}
		if in.Background {
			plan.Manifest.Annotations[origin.AnnotationBackground] = shared.ValueTrue
		}
		if !in.Since.IsZero() {
			plan.Manifest.Annotations[origin.AnnotationSince] = in.Since.UTC().Format(time.RFC3339Nano)
		}
		if trace != "" {
			plan.Manifest.Annotations[origin.AnnotationTrace] = trace
		}
	}
}

// actedOn returns the Manifests that the plan changes. It includes updates only if updates is true. An update carries the
// resourceVersion that was planned for, so it fails anyway if the known version is old.
func (v *View) actedOn(updates bool) []*v1beta2.Manifest {
	var all []*v1beta2.Manifest
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		switch plan.Action {
		case planning.ActionKeep:
			if !plan.Destination.Differs(plan.Existing) {
				continue
			}
		case planning.ActionUpdate, planning.ActionWait:
			if plan.Manifest == nil || !updates {
				continue
			}
		case planning.ActionNone:
			continue
		case planning.ActionCreate, planning.ActionRemove:
		}
		all = append(all, plan.Existing, plan.Orphan)
	}
	all = append(all, lists.Map(v.Obsolete, func(obsolete Obsolete) *v1beta2.Manifest { return obsolete.Manifest })...)
	return slices.DeleteFunc(slices.Concat(all, v.Unwanted, v.Unknown), func(m *v1beta2.Manifest) bool { return m == nil })
}

// Planned returns the planned state of each Manifest. An earlier decision stays until a newer plan replaces it.
func (v *View) Planned(kyma *v1beta2.Kyma) []v1beta2.PlannedManifest {
	entries := lists.By(kyma.Status.Planned, func(entry v1beta2.PlannedManifest) string { return entry.Name })
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		if plan.Record != nil {
			entries[plan.Record.Name] = *plan.Record
		}
	}
	names := slices.Sorted(maps.Keys(entries))
	return lists.Map(names, func(name string) v1beta2.PlannedManifest { return entries[name] })
}

// Names returns the names of all Manifests in the Kyma's record, and of those that will be created.
func (v *View) Names(kyma *v1beta2.Kyma) []string {
	names := slices.Clone(kyma.Status.Manifests)
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		if plan.Action == planning.ActionCreate && plan.Manifest != nil {
			names = append(names, plan.Manifest.Name)
		}
	}
	return desired.Recorded(names, nil)
}

// noteUnsettled records in the result which of the Kyma's Manifests need work: those that this reconcile wrote or
// deleted, those that an earlier reconcile wrote before its result was lost, and those of the named modules.
func (v *View) noteUnsettled(result *Result, named []string) {
	all := result.written
	result.written, result.absent = nil, nil
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		all = append(all, plan.Existing)
	}
	for _, obsolete := range v.Obsolete {
		all = append(all, obsolete.Manifest)
	}
	seen := map[string]bool{}
	for _, m := range slices.Concat(all, v.Unwanted) {
		if m == nil || seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		deleted := !m.DeletionTimestamp.IsZero() || slices.Contains(result.Deleted, m.Name)
		switch {
		case deleted && manifests.HasOwnFinalizer(m):
			result.Removing = append(result.Removing, kick.RefOf(m))
		case deleted:
		case m.Status.InputsDigest != manifests.InputsDigest(m) || slices.Contains(named, m.ModuleName()):
			result.Begin = append(result.Begin, kick.RefOf(m))
		case !m.Status.Settled:
			result.Unsettled = append(result.Unsettled, kick.RefOf(m))
		}
	}
}
