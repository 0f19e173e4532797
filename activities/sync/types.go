// Package sync synchronizes the remote clusters of Kymas.
//
// SyncRemote takes the steps of a synchronization in order. CleanupRemote takes those of a removal. Probe compares a
// cluster with its desired state without writing; the sweep calls it. The package keeps the remote Kyma and accepts what
// its owner asks for. Other content of remote clusters has its own packages: remote (access to the cluster), definitions
// (CRDs), catalog, imports (user-provided templates), agents and pullsecret.
//
// What must stay true:
//   - The place of a synchronization, with the UID of the cluster, is recorded in the Kyma's status before anything is
//     written there (recordPlace). A removal cleans up only the recorded cluster.
//   - What the remote Kyma asks for is recorded in the status before anything acts on it (accept). If the remote Kyma is
//     invalid or gone, the last accepted state stays in force.
//   - Objects of other Kymas, and of the cluster's owner, are never overwritten or deleted. The control plane decides
//     which remote Kyma belongs to which Kyma, never a mark in the cluster (checkOwnership).
//   - A failed part, such as the catalog, is reported as a fault and does not stop the other parts (Result.note).
//   - The content of Secrets appears in no message, status or history.
package sync

import (
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says how a synchronization or a clean-up ended.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist, or that another Kyma with the same name does. Nothing was changed.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Kyma is being deleted. Only CleanupRemote may follow.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeOff means that the Kyma has no remote cluster, is skipped, or is not ours.
	OutcomeOff Outcome = "Off"
	// OutcomeSynced means that the remote Kyma was read and accepted. Faults lists the parts that failed.
	OutcomeSynced Outcome = "Synced"
	// OutcomeClean means that nothing of the Kyma is left in the remote cluster.
	OutcomeClean Outcome = "Clean"
)

// Input names the Kyma to synchronize.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named. An older cache is not used to find the access Secret.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Background means that nobody waits, and that no change in the cluster is known. Objects that an earlier
	// synchronization with the same access has found or created, and that others do not change by accident, are then not
	// read again.
	Background bool `json:"background,omitempty"`
}

// CleanupInput names the Kyma under deletion to clean up.
type CleanupInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named. An older cache does not prove that no Manifest is left.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Force removes the finalizers that hold the remote Kyma, whoever set them, because the Kyma is purged.
	Force bool `json:"force,omitempty"`
}

// Result reports what a synchronization found and did.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Kyma is the Kyma's version after this synchronization. The next step must see this version.
	Kyma string `json:"kyma,omitempty"`
	// Left are the Manifests under deletion of a Kyma that is gone.
	Left []kick.Ref `json:"left,omitempty"`
	// Cluster identifies the remote cluster, for the search attribute RemoteCluster.
	Cluster string `json:"cluster,omitempty"`
	// AcceptedChange is true if the remote Kyma's channel, modules or deferral of upgrades differ from the last accepted
	// ones.
	AcceptedChange bool `json:"acceptedChange,omitempty"`
	// CatalogOff is true if .spec.sync.moduleCatalog is false.
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Faults are the faults of failed parts, if the remote Kyma was still read completely, so that modules can be
	// resolved. The fault of fault.PartInvalid is for the status that the remote owner reads; the last accepted state
	// stays in force. In JSON the faults are beside the other fields.
	Faults fault.Parts `json:"-"`
	// Refused says, by module entry, why a user-provided template of the remote cluster is not used.
	Refused map[string]string `json:"refused,omitempty"`
	// Imported are the versions of imported templates that this synchronization wrote in the control plane. The next
	// resolution must see versions at least as new.
	Imported []desired.Seen `json:"imported,omitempty"`
	// Forced lists the forced objects of a purged Kyma in the remote cluster. Fault says why a clean-up that forced
	// something did not finish. It is not returned as the activity's error, so that these names are not lost.
	Forced []string    `json:"forced,omitempty"`
	Fault  fault.Fault `json:"fault,omitzero"`
	// Writes counts the requests that changed the remote cluster.
	Writes int `json:"writes"`
}

// MarshalJSON implements json.Marshaler. See fault.Parts.MarshalWith.
func (r Result) MarshalJSON() ([]byte, error) {
	type rest Result
	return r.Faults.MarshalWith(rest(r))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Result) UnmarshalJSON(encoded []byte) (err error) {
	type rest Result
	r.Faults, err = fault.UnmarshalParts(encoded, (*rest)(r))
	return err
}
