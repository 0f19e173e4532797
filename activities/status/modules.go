package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// moduleStatuses says how each module is: those that are wanted, and those that are still to go. Mandatory
// modules are not shown.
func moduleStatuses(o observation) []v1beta2.ModuleStatus {
	kyma, view, manifests := o.kyma, o.view, o.manifests
	var rows []v1beta2.ModuleStatus
	shown := map[string]bool{}
	for i := range view.Modules {
		plan := &view.Modules[i]
		if plan.Existing != nil {
			shown[plan.Existing.Name] = true
		}
		row := wantedModule(kyma, plan, o.held())
		if why := o.in.Refused[plan.Name]; why != "" && plan.Refusal != nil {
			row.Message, row.Hint = why, ""
		}
		rows = append(rows, row)
	}
	unwanted, uncertain, unknown := namesOf(view.Unwanted), namesOf(view.Uncertain), namesOf(view.Unknown)
	for i := range manifests {
		manifest := &manifests[i]
		// What is shown counts as known, so what nobody planned is not. One that is being deleted may be upstream's, of whose
		// status the informer leaves out what would tell.
		if manifest.IsMandatory() || desired.IsAgent(manifest) || shown[manifest.Name] || unknown[manifest.Name] && manifest.DeletionTimestamp.IsZero() {
			continue
		}
		row := otherModule(kyma, manifest, unwanted[manifest.Name], o.held())
		if uncertain[manifest.Name] {
			row.Hint = "fix that entry"
			row.Message = "is not removed while another entry of the list cannot be resolved, for that may be its new name"
		}
		rows = append(rows, row)
	}
	return fitted(onePerName(rows))
}

func namesOf(manifests []*v1beta2.Manifest) map[string]bool {
	return lists.Set(manifests, func(manifest *v1beta2.Manifest) string { return manifest.Name })
}

// wantedModule is the row of a module entry; held is why removals wait.
func wantedModule(kyma *v1beta2.Kyma, plan *planning.ModulePlan, held fault.Fault) v1beta2.ModuleStatus {
	row := v1beta2.ModuleStatus{
		Name: plan.Name, FQDN: plan.Component, OCMComponentName: plan.Component,
		Channel: plan.Channel, Version: plan.Version, Template: plan.Template,
	}
	if plan.Existing != nil {
		fillFromManifest(&row, plan.Existing)
	}
	switch {
	case plan.Action == planning.ActionRemove && isHeld(kyma, plan.Existing, held):
		asInstalled(&row, kyma, plan)
		showHeld(&row, kyma, held)
	case plan.Refusal != nil:
		refused(&row, kyma, plan)
	case plan.Deferred != nil:
		asInstalled(&row, kyma, plan)
		row.DeferredUntil = &metav1.Time{Time: plan.Deferred.Until}
		row.Message, row.Hint = plan.Deferred.Message, ""
	case plan.Window != nil:
		asInstalled(&row, kyma, plan)
		row.Maintenance = true
		row.Message, row.Hint = plan.Window.Message(), plan.Window.Hint()
	case plan.Guarded != nil:
		asInstalled(&row, kyma, plan)
	case plan.Action == planning.ActionWait && (plan.Existing == nil || row.Message == ""):
		row.State = shared.StateDeleting
		row.Message, row.Hint = "waits until its earlier installation is removed", ""
	case plan.Action == planning.ActionWait:
		// What holds the removal is said by the Manifest.
	case plan.Existing == nil && !plan.Module.IsManaged():
		row.State = shared.StateUnmanaged
	case plan.Existing == nil:
		row.State = shared.StateProcessing
	}
	if row.State == shared.StateReady && plan.Action == planning.ActionUpdate {
		// What is installed is ready, but it is not what is wanted.
		row.State = shared.StateProcessing
		row.Message = changing(plan.Existing.Spec.Version, plan.Version)
	}
	return row
}

// isHeld reports whether the removal of an installed module that nobody wants waits for the removal budget.
func isHeld(kyma *v1beta2.Kyma, m *v1beta2.Manifest, held fault.Fault) bool {
	return !held.IsZero() && m.DeletionTimestamp.IsZero() && !m.IsUnmanaged() && (!m.IsSkipReconciliation() || !kyma.DeletionTimestamp.IsZero())
}

// showHeld shows why a removal waits. A module whose owner deleted the whole Kyma is on its way all the same.
func showHeld(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, held fault.Fault) {
	row.State = shared.StateDeleting
	if kyma.DeletionTimestamp.IsZero() {
		row.State = shared.StateWarning
	}
	row.Message, row.Hint = held.Message, hint.Or(held.Hint, held.Reason)
}

// refused shows a module that does not get what it asks for. What is installed of it stays managed, and is
// what the row shows; a graver state of it is not covered up.
func refused(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, plan *planning.ModulePlan) {
	asInstalled(row, kyma, plan)
	if weight(plan.Refusal.State) >= weight(row.State) || row.State == shared.StateUnknown {
		row.State = plan.Refusal.State
	}
	row.Message, row.Hint = plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason)
}

// asInstalled makes a row show what is installed instead of what is asked for.
func asInstalled(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, plan *planning.ModulePlan) {
	if installed := plan.Existing; installed != nil {
		row.Version = installed.Spec.Version
		row.Channel = installed.Labels[shared.LabelChannel]
		row.FQDN, row.OCMComponentName = installed.ComponentName(), installed.ComponentName()
		row.Template = previous(kyma, plan.Name).Template
	}
}

// otherModule is the row of a Manifest that no entry has: one that nobody wants, or one about which nothing
// can be said while what is wanted is not completely known.
func otherModule(kyma *v1beta2.Kyma, manifest *v1beta2.Manifest, unwanted bool, held fault.Fault) v1beta2.ModuleStatus {
	row := v1beta2.ModuleStatus{
		Name: moduleName(kyma, manifest), FQDN: manifest.ComponentName(), OCMComponentName: manifest.ComponentName(),
		Channel: manifest.Labels[shared.LabelChannel], Version: manifest.Spec.Version,
	}
	row.Template = previous(kyma, row.Name).Template
	fillFromManifest(&row, manifest)
	switch {
	case unwanted && isHeld(kyma, manifest, held):
		showHeld(&row, kyma, held)
	case unwanted && manifest.IsSkipReconciliation() && manifest.DeletionTimestamp.IsZero():
		row.Message = fmt.Sprintf("is not removed, for its Manifest has the label %s", shared.LabelSkipReconciliation)
		row.Hint = "take the label off when ready"
	case unwanted:
		row.State = shared.StateDeleting
	}
	return row
}

// changing says that a module is about to get another version, or the same one anew, before its Manifest says so.
func changing(from, to string) string {
	if from == "" || from == to {
		return "installing version " + to
	}
	return fmt.Sprintf("upgrading from %s to version %s", from, to)
}

// fillFromManifest shows what a Manifest says of its module. A state that belongs to an earlier generation
// says nothing of the present one, unless it is bad.
func fillFromManifest(row *v1beta2.ModuleStatus, manifest *v1beta2.Manifest) {
	row.Manifest = &v1beta2.TrackedObject{
		APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest,
		Metadata: v1beta2.TrackedMeta{Name: manifest.Name, Namespace: manifest.Namespace, Generation: manifest.Generation},
	}
	row.Resource = resourceRef(manifest)
	row.State = manifest.Status.KnownState()
	if !row.State.IsKnown() || row.State == shared.StateUnknown {
		row.State = shared.StateProcessing
	}
	stale := manifest.Status.ObservedGeneration < manifest.Generation && !manifest.IsSkipReconciliation()
	switch {
	case !manifest.DeletionTimestamp.IsZero():
		if row.State != shared.StateError && row.State != shared.StateWarning {
			row.State = shared.StateDeleting
		}
	case manifest.IsUnmanaged():
		row.State = shared.StateUnmanaged
	case stale && row.State == shared.StateReady:
		// What its Manifest last said is about what was installed before.
		row.State = shared.StateProcessing
		row.Message = changing(manifest.Status.InstalledVersion, manifest.Spec.Version)
		return
	}
	switch operation := manifest.Status.LastOperation; {
	case row.State == shared.StateReady || row.State == shared.StateUnmanaged:
	case !manifest.DeletionTimestamp.IsZero() && !waits(manifest):
		// What it said before its removal began is not what the removal waits for.
	case manifest.DeletionTimestamp.IsZero() && stale && row.State != shared.StateError && row.State != shared.StateWarning:
		// Nor is what it said of its former spec what goes on now.
	case operation != nil:
		row.Message, row.Hint = operation.Operation, operation.Hint
	}
	if manifest.IsSkipReconciliation() && manifest.DeletionTimestamp.IsZero() {
		row.Message, row.Hint = shared.OperationSkipped, ""
	}
}

// resourceRef refers to the module's default custom resource.
func resourceRef(manifest *v1beta2.Manifest) *v1beta2.TrackedObject {
	if record := manifest.Status.DefaultCR; record != nil {
		return &v1beta2.TrackedObject{APIVersion: record.APIVersion, Kind: record.Kind,
			Metadata: v1beta2.TrackedMeta{Name: record.Name, Namespace: record.Namespace}}
	}
	object, err := manifest.Spec.DefaultCR()
	if err != nil || object == nil {
		return nil // what is wrong with it is said where it is used
	}
	return &v1beta2.TrackedObject{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Metadata: v1beta2.TrackedMeta{Name: object.GetName(), Namespace: object.GetNamespace()}}
}

// previous is the row that the status has for a module so far; empty where there is none.
func previous(kyma *v1beta2.Kyma, name string) v1beta2.ModuleStatus {
	for _, module := range kyma.Status.Modules {
		if module.Name == name {
			return *module.DeepCopy()
		}
	}
	return v1beta2.ModuleStatus{}
}

// onePerName orders rows by name. A module that has two Manifests, one of them unwanted, is shown by the one
// that it is to have.
func onePerName(rows []v1beta2.ModuleStatus) []v1beta2.ModuleStatus {
	slices.SortStableFunc(rows, func(a, b v1beta2.ModuleStatus) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(rows, func(a, b v1beta2.ModuleStatus) bool { return a.Name == b.Name })
}

const (
	// maxRowsBytes is how large status.modules is, as JSON, before more is left out. With all else that a status has it stays
	// below 1 MiB, as etcd takes 1.5 MiB for a Kyma (docs/scale.md#how-large-objects-can-get).
	maxRowsBytes = 576 << 10
	// fewRows is how many rows fit with texts of the greatest length, whatever they consist of.
	fewRows = 24
	// maxName is how many bytes the names in a row have at most. Valid ones are not longer.
	maxName = 255
)

// fitted bounds the rows of a status. Each text is at most as long as the message of a fault; with hundreds of rows it is
// shorter. If even short texts do not fit, references to templates and custom resources, hints and the deprecated fqdn are
// left out too.
func fitted(rows []v1beta2.ModuleStatus) []v1beta2.ModuleStatus {
	for i := range rows {
		row := &rows[i]
		for _, name := range []*string{&row.Name, &row.FQDN, &row.OCMComponentName, &row.Channel, &row.Version} {
			*name = fault.Shorten(*name, maxName)
		}
		if r := row.Resource; r != nil {
			for _, name := range []*string{&r.APIVersion, &r.Kind, &r.Metadata.Name, &r.Metadata.Namespace} {
				*name = fault.Shorten(*name, maxName)
			}
		}
	}
	for limit := fault.MaxMessage; limit >= fault.MaxMessage/32; limit /= 2 {
		for i := range rows {
			rows[i].Message, rows[i].Hint = fault.Shorten(rows[i].Message, limit), fault.Shorten(rows[i].Hint, limit)
		}
		if len(rows) <= fewRows || size(rows) <= maxRowsBytes {
			return rows
		}
	}
	for i := range rows {
		rows[i].Template, rows[i].Resource, rows[i].Hint, rows[i].FQDN = nil, nil, "", ""
	}
	return rows
}

// size is how large rows are as JSON, which escapes what texts of others may consist of.
func size(rows []v1beta2.ModuleStatus) int {
	encoded, err := json.Marshal(rows)
	if err != nil {
		return maxRowsBytes + 1
	}
	return len(encoded)
}
