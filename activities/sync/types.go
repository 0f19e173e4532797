// Package sync has the activities in the remote cluster of a Kyma: SyncRemote takes the steps of a synchronization in
// order, CleanupRemote those of a removal, and Probe compares without writing. It keeps the remote Kyma, and accepts what
// its owner asks for; what else is kept there is in packages of their own: remote (the cluster), definitions, catalog and
// imports.
package sync

import (
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says what a synchronization found or did.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist or is another one of the same name: nothing was touched.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Kyma is being deleted: only Cleanup may follow.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeOff means that the Kyma has no remote cluster, is skipped, or is not ours.
	OutcomeOff Outcome = "Off"
	// OutcomeSynced means that the remote cluster was read completely and is as wanted.
	OutcomeSynced Outcome = "Synced"
	// OutcomeClean means that nothing of the Kyma is left in the remote cluster.
	OutcomeClean Outcome = "Clean"
)

// Input names the Kyma whose cluster is to be synchronized.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named: access is not searched for with a cache that is older.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Background says that nobody waits, and nothing is known to have changed in the cluster: what a synchronization with
	// the same access has found or brought before, and what others do not change by chance, is not read again.
	Background bool `json:"background,omitempty"`
}

// CleanupInput names the Kyma under deletion whose cluster is to be cleaned up.
type CleanupInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks named: that no Manifest is left is not believed of a cache that is older.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Force takes off the finalizers that hold the remote Kyma, whoever set them: the Kyma is purged.
	Force bool `json:"force,omitempty"`
}

// Result is what a synchronization found and did.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Kyma is the version in which this synchronization left the Kyma: the next step must see that one.
	Kyma string `json:"kyma,omitempty"`
	// Left are the Manifests under deletion of a Kyma that is gone.
	Left []kick.Ref `json:"left,omitempty"`
	// Cluster identifies the remote cluster, for the search attribute RemoteCluster.
	Cluster string `json:"cluster,omitempty"`
	// AcceptedChange is true when the remote Kyma's channel or modules differ from those last accepted.
	AcceptedChange bool `json:"acceptedChange,omitempty"`
	// CatalogOff is true when .spec.sync.moduleCatalog is false.
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Faults are those of the parts that failed while the remote Kyma was read completely, so that modules can still be
	// resolved. That of fault.PartInvalid is for the status, which the remote owner reads: what was last accepted stays in
	// force. In JSON they are beside the other fields.
	Faults fault.Parts `json:"-"`
	// Refused says, by module entry, why a user-provided template of the remote cluster is not used for it.
	Refused map[string]string `json:"refused,omitempty"`
	// Imported are the versions of the copies of such templates that this synchronization wrote in the control plane: a
	// resolution that follows must see them at least as new.
	Imported []desired.Seen `json:"imported,omitempty"`
	// Forced names what of a purged Kyma was forced in the remote cluster. Fault is why a clean-up that forced
	// something did not end: it is not an error of the step, so that these names are not forgotten.
	Forced []string    `json:"forced,omitempty"`
	Fault  fault.Fault `json:"fault,omitzero"`
	// Writes counts the requests that changed something in the remote cluster.
	Writes int `json:"writes"`
}

// MarshalJSON implements json.Marshaler: see fault.Parts.MarshalWith.
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
