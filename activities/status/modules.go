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

// moduleStatuses returns the row of each module: of wanted modules, and of those that still have to be removed. Mandatory
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
		// A shown module counts as known, so unplanned Manifests are not shown. A Manifest under deletion may be
		// upstream's, which cannot be recognized because the informer omits the status field that identifies it.
		if manifest.IsMandatory() || desired.IsAgent(manifest) || shown[manifest.Name] || unknown[manifest.Name] && manifest.DeletionTimestamp.IsZero() {
			continue
		}
		row := otherModule(kyma, manifest, unwanted[manifest.Name], o.held())
		if uncertain[manifest.Name] {
			row.Hint = "fix that entry"
			row.Message = "is not removed, because another entry of the list cannot be resolved and may be its new name"
		}
		rows = append(rows, row)
	}
	return fitted(onePerName(rows))
}

func namesOf(manifests []*v1beta2.Manifest) map[string]bool {
	return lists.Set(manifests, func(manifest *v1beta2.Manifest) string { return manifest.Name })
}

// wantedModule returns the row of a module entry. held says why removals wait.
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
		row.Message, row.Hint = "waits for the removal of its earlier installation", ""
	case plan.Action == planning.ActionWait:
		// The Manifest says what blocks the removal.
	case plan.Existing == nil && !plan.Module.IsManaged():
		row.State = shared.StateUnmanaged
	case plan.Existing == nil:
		row.State = shared.StateProcessing
	}
	if row.State == shared.StateReady && plan.Action == planning.ActionUpdate {
		// The installed version is ready, but another one is wanted.
		row.State = shared.StateProcessing
		row.Message = changing(plan.Existing.Spec.Version, plan.Version)
	}
	return row
}

// isHeld reports whether the removal of an unwanted installed module waits for the removal budget.
func isHeld(kyma *v1beta2.Kyma, m *v1beta2.Manifest, held fault.Fault) bool {
	return !held.IsZero() && m.DeletionTimestamp.IsZero() && !m.IsUnmanaged() && (!m.IsSkipReconciliation() || !kyma.DeletionTimestamp.IsZero())
}

// showHeld shows why a removal waits. If the whole Kyma is being deleted, the module is shown as Deleting all the same.
func showHeld(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, held fault.Fault) {
	row.State = shared.StateDeleting
	if kyma.DeletionTimestamp.IsZero() {
		row.State = shared.StateWarning
	}
	row.Message, row.Hint = held.Message, hint.Or(held.Hint, held.Reason)
}

// refused shows a refused module. An installed version stays managed, and the row shows it. If the installed module is in
// a worse state, the row keeps that state.
func refused(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, plan *planning.ModulePlan) {
	asInstalled(row, kyma, plan)
	if weight(plan.Refusal.State) >= weight(row.State) || row.State == shared.StateUnknown {
		row.State = plan.Refusal.State
	}
	row.Message, row.Hint = plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason)
	row.RefusedVersion = plan.Version
}

// asInstalled makes a row show the installed module instead of the requested one.
func asInstalled(row *v1beta2.ModuleStatus, kyma *v1beta2.Kyma, plan *planning.ModulePlan) {
	if installed := plan.Existing; installed != nil {
		row.Version = installed.Spec.Version
		row.Channel = installed.Labels[shared.LabelChannel]
		row.FQDN, row.OCMComponentName = installed.ComponentName(), installed.ComponentName()
		row.Template = previous(kyma, plan.Name).Template
	}
}

// otherModule returns the row of a Manifest without an entry. Either the module is unwanted, or this is not known because
// the wanted modules are not completely known.
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
		row.Message = fmt.Sprintf("is not removed, because its Manifest has the label %s", shared.LabelSkipReconciliation)
		row.Hint = "take the label off when ready"
	case unwanted:
		row.State = shared.StateDeleting
	}
	return row
}

// changing returns the message for a module that is about to get another version, or the same one again, before its
// Manifest reports it.
func changing(from, to string) string {
	if from == "" || from == to {
		return "installing version " + to
	}
	return fmt.Sprintf("upgrading from %s to version %s", from, to)
}

// fillFromManifest fills a row from a Manifest's status. If the status belongs to an earlier generation, only a bad state
// is shown.
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
		// The Manifest's last status is about the earlier installation.
		row.State = shared.StateProcessing
		row.Message = changing(manifest.Status.InstalledVersion, manifest.Spec.Version)
		return
	}
	switch operation := manifest.Status.LastOperation; {
	case row.State == shared.StateReady || row.State == shared.StateUnmanaged:
	case !manifest.DeletionTimestamp.IsZero() && !waits(manifest):
		// The message from before the removal does not say what the removal waits for.
	case manifest.DeletionTimestamp.IsZero() && stale && row.State != shared.StateError && row.State != shared.StateWarning:
		// The message about the earlier spec does not describe the current work.
	case operation != nil:
		row.Message, row.Hint = operation.Operation, operation.Hint
	}
	if manifest.IsSkipReconciliation() && manifest.DeletionTimestamp.IsZero() {
		row.Message, row.Hint = shared.OperationSkipped, ""
	}
}

// resourceRef returns the reference to the module's default custom resource.
func resourceRef(manifest *v1beta2.Manifest) *v1beta2.TrackedObject {
	if record := manifest.Status.DefaultCR; record != nil {
		return &v1beta2.TrackedObject{APIVersion: record.APIVersion, Kind: record.Kind,
			Metadata: v1beta2.TrackedMeta{Name: record.Name, Namespace: record.Namespace}}
	}
	object, err := manifest.Spec.DefaultCR()
	if err != nil || object == nil {
		return nil // an invalid custom resource is reported where it is used
	}
	return &v1beta2.TrackedObject{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Metadata: v1beta2.TrackedMeta{Name: object.GetName(), Namespace: object.GetNamespace()}}
}

// previous returns the current row of a module in the status, or an empty row.
func previous(kyma *v1beta2.Kyma, name string) v1beta2.ModuleStatus {
	for _, module := range kyma.Status.Modules {
		if module.Name == name {
			return *module.DeepCopy()
		}
	}
	return v1beta2.ModuleStatus{}
}

// onePerName sorts rows by name. If a module has two Manifests, one of them unwanted, only the wanted one is shown.
func onePerName(rows []v1beta2.ModuleStatus) []v1beta2.ModuleStatus {
	slices.SortStableFunc(rows, func(a, b v1beta2.ModuleStatus) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(rows, func(a, b v1beta2.ModuleStatus) bool { return a.Name == b.Name })
}

const (
	// maxRowsBytes is the maximum size of status.modules as JSON before details are left out. With everything else in a
	// status, it stays below 1 MiB. etcd accepts 1.5 MiB for a Kyma (docs/performance.md#how-large-objects-can-get).
	maxRowsBytes = 576 << 10
	// fewRows is how many rows always fit with texts of maximum length.
	fewRows = 24
	// maxName is the maximum length of the names in a row, in bytes. Valid names are not longer.
	maxName = 255
)

// fitted bounds the size of the rows. Each text is at most as long as the message of a fault, and shorter if there are
// hundreds of rows. If even short texts do not fit, fitted also drops references to templates and custom resources,
// hints, and the deprecated fqdn.
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

// size returns the size of rows as JSON, which may escape characters in texts of others.
func size(rows []v1beta2.ModuleStatus) int {
	encoded, err := json.Marshal(rows)
	if err != nil {
		return maxRowsBytes + 1
	}
	return len(encoded)
}
