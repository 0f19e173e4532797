// Package status aggregates the states of a Kyma's modules into the one status of the Kyma.
package status

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says what a report found.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist or is another one of the same name: nothing was touched.
	OutcomeGone Outcome = "Gone"
	// OutcomeReported means that the status says what is true.
	OutcomeReported Outcome = "Reported"
	// OutcomeReleased means that the finalizer was taken off.
	OutcomeReleased Outcome = "Released"
	// OutcomeBlocked means that the finalizer stays because Manifests are left.
	OutcomeBlocked Outcome = "Blocked"
)

// ReportInput says of which Kyma to write the status, and what only the workflow knows.
type ReportInput struct {
	Ref kick.Ref `json:"ref"`
	// InputsDigest is recorded when it is set: the reconcile that computed it has completed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Parked is true when the reconcile failed in a way that only a change can fix: then the present inputs
	// are recorded, so that nobody is woken until one of them changes.
	Parked bool `json:"parked,omitempty"`
	// Seen are the newest versions that kicks and the reconcile named; a cache that is older is bypassed. Deleted is true
	// when the reconcile deleted Manifests, of which no version is known.
	Seen    []desired.Seen `json:"seen,omitempty"`
	Deleted bool           `json:"deleted,omitempty"`
	// ManifestGone is true when the report was asked for because a Manifest was removed.
	ManifestGone bool `json:"manifestGone,omitempty"`
	// Faults are those of the parts of the last reconcile that failed, in JSON beside the other fields.
	Faults fault.Parts `json:"-"`
	// Refused says, by module entry, why a user-provided template of the remote cluster is not used, and Imported which were
	// imported just now.
	Refused  map[string]string `json:"refused,omitempty"`
	Imported []desired.Seen    `json:"imported,omitempty"`
	// Synced is true when the Kyma has a remote cluster, CatalogOff when it wants no catalog there.
	Synced     bool `json:"synced,omitempty"`
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Push is true when the remote copy of the status is to be written: the cluster was last reached, or it is time to
	// try again.
	Push bool `json:"push,omitempty"`
	// Waiting says in words what a deletion waits for.
	Waiting string `json:"waiting,omitempty"`
	// Purging is true while the deletion is forced.
	Purging bool `json:"purging,omitempty"`
}

// MarshalJSON implements json.Marshaler: see fault.Parts.MarshalWith.
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

// ReleaseInput says which Kyma is to lose its finalizer.
type ReleaseInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named; nothing is released by a cache that is older.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Abandoned says in words what in the remote cluster of a purged Kyma could not be cleaned up; an Event says so.
	Abandoned string `json:"abandoned,omitempty"`
}

// ReportResult is the status in short, for current details and search attributes.
type ReportResult struct {
	Outcome Outcome      `json:"outcome"`
	State   shared.State `json:"state"`
	Channel string       `json:"channel,omitempty"`
	Message string       `json:"message,omitempty"`
	Modules []Module     `json:"modules,omitempty"`
	// NeedsReconcile is true when the inputs differ from those of the last completed reconcile, when a Manifest
	// that is wanted is missing, or when one is left that is not wanted.
	NeedsReconcile bool `json:"needsReconcile,omitempty"`
	// ReconcileAt is when it is the Kyma's turn for that reconcile, where it is due only because of a change of what many Kymas
	// share; zero means now.
	ReconcileAt time.Time `json:"reconcileAt,omitzero"`
	// Deleting is true when the Kyma is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// Push is the fault of writing the remote copy of the status, if any.
	Push fault.Fault `json:"push,omitzero"`
	// Pushed is true when the remote cluster answered, and the copy of the status in it is as it should be.
	Pushed bool `json:"pushed,omitempty"`
}

// Module is one row of the current details.
type Module struct {
	Name    string       `json:"name"`
	Version string       `json:"version,omitempty"`
	State   shared.State `json:"state"`
	Message string       `json:"message,omitempty"`
}
