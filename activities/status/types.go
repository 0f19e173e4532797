// Package status writes the status of Kymas.
//
// ReportKyma aggregates the states of a Kyma's modules, which it reads from their Manifests, and the faults of the last
// reconcile into the Kyma's status. It writes the same status into the remote Kyma, records Events for transitions, and
// returns whether another reconcile is due. ReleaseKyma removes the Kyma's finalizers at the end of a deletion.
//
// What must stay true:
//   - The whole status is computed by the pure function next from an observation. A second report without changes writes
//     nothing, so times change only together with the facts that they belong to.
//   - The status is written at the resourceVersion that was read. Events follow only after a successful write.
//   - The remote copy is written only to the accepted remote Kyma (same uid). A failed push never undoes the report.
//   - A status fits into etcd, however many modules a Kyma has (fitted in modules.go).
//   - An unplanned Manifest is not shown, because shown modules count as known (moduleStatuses).
package status

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says how a report ended.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist, or that another Kyma with the same name does. Nothing was changed.
	OutcomeGone Outcome = "Gone"
	// OutcomeReported means that the status is up to date.
	OutcomeReported Outcome = "Reported"
	// OutcomeReleased means that the finalizer was removed.
	OutcomeReleased Outcome = "Released"
	// OutcomeBlocked means that the finalizer stays because Manifests are left.
	OutcomeBlocked Outcome = "Blocked"
)

// ReportInput names the Kyma to report, and holds the facts that only the workflow knows.
type ReportInput struct {
	Ref kick.Ref `json:"ref"`
	// InputsDigest is recorded if it is set. The reconcile that computed it has completed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Parked is true if the reconcile failed and only a change can fix that. The current inputs are then recorded, so
	// that nothing kicks the Kyma before one of them changes.
	Parked bool `json:"parked,omitempty"`
	// Seen are the newest versions that kicks and the reconcile named. An older cache is bypassed. Deleted is true if the
	// reconcile deleted Manifests, because a deletion has no version.
	Seen    []desired.Seen `json:"seen,omitempty"`
	Deleted bool           `json:"deleted,omitempty"`
	// ManifestGone is true if the report was requested because a Manifest was removed.
	ManifestGone bool `json:"manifestGone,omitempty"`
	// Faults are the faults of failed parts of the last reconcile. In JSON they are beside the other fields.
	Faults fault.Parts `json:"-"`
	// Refused says, by module entry, why a user-provided template of the remote cluster is not used. Imported are the
	// templates that were just imported.
	Refused  map[string]string `json:"refused,omitempty"`
	Imported []desired.Seen    `json:"imported,omitempty"`
	// Synced is true if the Kyma has a remote cluster. CatalogOff is true if that cluster gets no catalog.
	Synced     bool `json:"synced,omitempty"`
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Push is true if the remote copy of the status should be written: the cluster was reachable last time, or another
	// attempt is due.
	Push bool `json:"push,omitempty"`
	// Waiting describes what a deletion waits for.
	Waiting string `json:"waiting,omitempty"`
	// Purging is true while the deletion is forced.
	Purging bool `json:"purging,omitempty"`
}

// MarshalJSON implements json.Marshaler. See fault.Parts.MarshalWith.
func (in ReportInput) MarshalJSON() ([]byte, error) {
	type rest ReportInput
	return in.Faults.MarshalWith(rest(in))
}

// UnmarshalJSON implements json.Unmarshaler.
func (in *ReportInput) UnmarshalJSON(encoded []byte) (err error) {
	type rest ReportInput
	in.Faults, err = fault.UnmarshalParts(encoded, (*rest)(in))
	return err
}

// ReleaseInput names the Kyma to release.
type ReleaseInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named. An older cache does not prove that no Manifest is left.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Abandoned describes what could not be cleaned up in the remote cluster of a purged Kyma. It becomes the message of
	// an Event.
	Abandoned string `json:"abandoned,omitempty"`
}

// ReportResult summarizes the status for current details and search attributes.
type ReportResult struct {
	Outcome Outcome      `json:"outcome"`
	State   shared.State `json:"state"`
	Channel string       `json:"channel,omitempty"`
	Message string       `json:"message,omitempty"`
	Modules []Module     `json:"modules,omitempty"`
	// NeedsReconcile is true if the inputs differ from those of the last completed reconcile, if a wanted Manifest is
	// missing, or if an unwanted one is left.
	NeedsReconcile bool `json:"needsReconcile,omitempty"`
	// ReconcileAt is the Kyma's turn for that reconcile if only inputs that many Kymas share have changed. Zero means
	// now.
	ReconcileAt time.Time `json:"reconcileAt,omitzero"`
	// Deleting is true if the Kyma is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// Push is the fault of writing the remote copy of the status, if any.
	Push fault.Fault `json:"push,omitzero"`
	// Pushed is true if the remote cluster answered and its copy of the status is up to date.
	Pushed bool `json:"pushed,omitempty"`
}

// Module is one row of the current details.
type Module struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	State   shared.State `json:"state"`
	Message string       `json:"message,omitempty"`
}
