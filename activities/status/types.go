// Package status aggregates the states of a Kyma's modules into the one status of the Kyma.
package status

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
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
	// InputsDigest is recorded when it is set: the look that computed it has completed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Parked is true when the look failed in a way that only a change can mend: then the present inputs
	// are recorded, so that nobody is woken until one of them changes.
	Parked bool `json:"parked,omitempty"`
	// Seen are the newest versions that kicks and the look told of; a cache that is older is bypassed. Deleted is true
	// when the look deleted Manifests, of which no version is known.
	Seen    []resolve.Version `json:"seen,omitempty"`
	Deleted bool              `json:"deleted,omitempty"`
	// ManifestGone is true when the report was asked for because a Manifest was removed.
	ManifestGone bool `json:"manifestGone,omitempty"`
	// Sync is the outcome of the last synchronization: zero when it succeeded or is off.
	Sync fault.Fault `json:"sync,omitzero"`
	// Definitions and Catalog are faults of those parts of a synchronization that otherwise succeeded.
	Definitions fault.Fault `json:"definitions,omitzero"`
	Catalog     fault.Fault `json:"catalog,omitzero"`
	// Invalid is the fault of an edit in the remote Kyma that was not accepted (sync.Result.Invalid).
	Invalid fault.Fault `json:"invalid,omitzero"`
	// Templates is the fault of taking in templates that were made by hand in the remote cluster. Refused says, by
	// module entry, why such a template is not used, and TakenIn which were taken in just now.
	Templates fault.Fault       `json:"templates,omitzero"`
	Refused   map[string]string `json:"refused,omitempty"`
	TakenIn   []resolve.Version `json:"takenIn,omitempty"`
	// PullSecret and Move are faults of bringing the image pull Secret and of moving the remote Kyma.
	PullSecret fault.Fault `json:"pullSecret,omitzero"`
	Move       fault.Fault `json:"move,omitzero"`
	// Synced is true when the Kyma has a remote cluster, CatalogOff when it wants no catalog there.
	Synced     bool `json:"synced,omitempty"`
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Resolve is the fault of the last look at the catalog and the Manifests, if it failed as a whole.
	Resolve fault.Fault `json:"resolve,omitzero"`
	// Push is true when the remote copy of the status is to be written: the cluster was last reached, or it is time to
	// try again.
	Push bool `json:"push,omitempty"`
	// Waiting says in words what a deletion waits for.
	Waiting string `json:"waiting,omitempty"`
	// Purging is true while the deletion is forced.
	Purging bool `json:"purging,omitempty"`
}

// ReleaseInput says which Kyma is to lose its finalizer.
type ReleaseInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks told of; nothing is released by a cache that is older.
	Seen []resolve.Version `json:"seen,omitempty"`
	// LetGo says in words what in the remote cluster of a purged Kyma could not be cleaned up; an Event tells it.
	LetGo string `json:"letGo,omitempty"`
}

// ReportResult is the status in short, for current details and search attributes.
type ReportResult struct {
	Outcome Outcome      `json:"outcome"`
	State   shared.State `json:"state"`
	Channel string       `json:"channel,omitempty"`
	Message string       `json:"message,omitempty"`
	Modules []Module     `json:"modules,omitempty"`
	// NeedsLook is true when the inputs differ from those of the last completed look, when a Manifest
	// that is wanted is missing, or when one is left that is not wanted.
	NeedsLook bool `json:"needsLook,omitempty"`
	// LookAt is when it is the Kyma's turn for that look, where it is due only because of a change of what many Kymas
	// share; zero means now.
	LookAt time.Time `json:"lookAt,omitzero"`
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
