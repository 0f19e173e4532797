// Package sync keeps a Kyma, its definitions and the module catalog in a remote cluster, and takes
// the remote owner's wishes in.
package sync

import (
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
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
	// Seen are the newest versions that kicks told of: access is not looked for with a cache that is older.
	Seen []resolve.Version `json:"seen,omitempty"`
	// Background says that nobody waits, and nothing is known to have changed in the cluster: what a synchronization with
	// the same access has found or brought before, and what others do not change by chance, is not looked at again.
	Background bool `json:"background,omitempty"`
}

// CleanupInput names the Kyma under deletion whose cluster is to be cleaned up.
type CleanupInput struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions that kicks told of: that no Manifest is left is not believed of a cache that is older.
	Seen []resolve.Version `json:"seen,omitempty"`
	// Force takes off the finalizers that hold the remote Kyma, whoever set them: the Kyma is purged.
	Force bool `json:"force,omitempty"`
}

// Result is what a synchronization found and did.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Cluster identifies the remote cluster, for the search attribute RemoteCluster.
	Cluster string `json:"cluster,omitempty"`
	// AcceptedChange is true when the remote Kyma's channel or modules differ from those last accepted.
	AcceptedChange bool `json:"acceptedChange,omitempty"`
	// CatalogOff is true when .spec.sync.moduleCatalog is false.
	CatalogOff bool `json:"catalogOff,omitempty"`
	// Definitions and Catalog are faults of parts that may fail although the remote Kyma was read
	// completely, so that modules can still be resolved.
	Definitions fault.Fault `json:"definitions,omitzero"`
	Catalog     fault.Fault `json:"catalog,omitzero"`
	// Invalid is the fault of an edit in the remote Kyma that cannot be accepted: what was last accepted
	// stays in force, and the rest was synchronized. It is for the status, which the remote owner reads.
	Invalid fault.Fault `json:"invalid,omitzero"`
	// Refused says, by module entry, why a template made by hand in the remote cluster is not used for it.
	Refused map[string]string `json:"refused,omitempty"`
	// TakenIn are the versions of the copies of such templates that this look wrote in the control plane: a
	// resolution that follows must see them at least as new.
	TakenIn []resolve.Version `json:"takenIn,omitempty"`
	// Templates is the fault of taking them in, another part that may fail.
	Templates fault.Fault `json:"templates,omitzero"`
	// PullSecret is the fault of bringing the image pull Secret, and Move that of moving the remote Kyma to another
	// place: parts that may fail too.
	PullSecret fault.Fault `json:"pullSecret,omitzero"`
	Move       fault.Fault `json:"move,omitzero"`
	// Forced names what of a purged Kyma was forced in the remote cluster. Fault is why a clean-up that forced
	// something did not end: it is not an error of the step, so that these names are not forgotten.
	Forced []string    `json:"forced,omitempty"`
	Fault  fault.Fault `json:"fault,omitzero"`
	// Writes counts the requests that changed something in the remote cluster.
	Writes int `json:"writes"`
}
