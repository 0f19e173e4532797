// Package resolve turns what a Kyma asks for into Manifests.
package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says what a reconcile of a Kyma found.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist or is another one of the same name: nothing was touched.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Kyma is being deleted.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeSkipped means that the Kyma carries the skip-reconciliation label, or is a synced copy.
	OutcomeSkipped Outcome = "Skipped"
	// OutcomeNotOurs means that another instance manages the Kyma.
	OutcomeNotOurs Outcome = "NotOurs"
	// OutcomeDone means that the Manifests are as wanted.
	OutcomeDone Outcome = "Done"
)

// Input names the Kyma to reconcile.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions of cached objects that kicks named; a cache that is older is
	// bypassed by a live read.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Background is true when nobody waits for this reconcile: what follows from it makes way for others, too.
	Background bool `json:"background,omitempty"`
	// Since is when a watcher saw the change that this reconcile is for; zero where nobody says it.
	Since time.Time `json:"since,omitzero"`
	// Modules are the names of modules that are to be worked on also if they have settled.
	Modules []string `json:"modules,omitempty"`
	// live demands that Manifests are read live before they are changed.
	live bool
}

// Result is what a reconcile found and did. It names objects; it carries no bodies.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// InputsDigest is the digest of all inputs of this reconcile.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Synced is true when the Kyma has a remote cluster.
	Synced bool `json:"synced,omitempty"`
	// AwaitsSync is true when the remote Kyma was never accepted completely, so that nothing was changed:
	// a synchronization must come first, and then another reconcile.
	AwaitsSync bool   `json:"awaitsSync,omitempty"`
	Channel    string `json:"channel,omitempty"`
	// Created, Updated and Deleted are the names of Manifests written by this reconcile.
	Created []string `json:"created,omitempty"`
	Updated []string `json:"updated,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	// Begin are the Kyma's Manifests for whose present inputs no work has begun, or whose modules were named, Unsettled the others
	// that have not settled, and Removing those that are being deleted.
	Begin     []kick.Ref `json:"begin,omitempty"`
	Unsettled []kick.Ref `json:"unsettled,omitempty"`
	Removing  []kick.Ref `json:"removing,omitempty"`
	// Wrote are the versions of Manifests that this reconcile made or changed: a cache that is older does not know of it.
	Wrote []desired.Seen `json:"wrote,omitempty"`
	// Refused counts module entries that could not be resolved; the status says why.
	Refused int `json:"refused,omitempty"`
	// NextReconcile is when to reconcile again without a kick, such as at the beginning of a maintenance window; zero means
	// never. NextReconcileFor says what is waited for.
	NextReconcile time.Time `json:"nextReconcile,omitzero"`
	// Paced is true when a removal waits for its turn at NextReconcile.
	Paced bool `json:"paced,omitempty"`
	// Kyma is the version in which this reconcile left the Kyma: the next step must see that one.
	Kyma string `json:"kyma,omitempty"`
	// written are the Manifests that this reconcile made or changed, as they are now, and absent those that a live read did not
	// find before.
	written []*v1beta2.Manifest
	absent  []string
	// Fault is what of this reconcile cannot succeed without a change, while the rest of it is done.
	Fault            fault.Fault `json:"fault,omitzero"`
	NextReconcileFor string      `json:"nextReconcileFor,omitempty"`
}

// DeleteResult says which Manifests of a Kyma under deletion remain.
type DeleteResult struct {
	Outcome Outcome `json:"outcome"`
	// Alive is true when the Kyma is there and is not being deleted, so that nothing was touched.
	Alive bool `json:"alive,omitempty"`
	// Remaining are the names of those that still exist, also of those that could not be deleted: Fault says why.
	Remaining []string    `json:"remaining,omitempty"`
	Fault     fault.Fault `json:"fault,omitzero"`
	// Manifests are those that remain and may be purged, and Removing those of them that are being deleted.
	Manifests []kick.Ref `json:"manifests,omitempty"`
	Removing  []kick.Ref `json:"removing,omitempty"`
	// Access says that no access Secret is in any of its places, by a live read, and WithoutAccess which of Manifests
	// cannot be removed without it. Both are empty where none of them needs it.
	Access        fault.Fault `json:"access,omitzero"`
	WithoutAccess []kick.Ref  `json:"withoutAccess,omitempty"`
	// PurgeAt is when the deletion is to be forced, by what the Kyma says now; zero means never. PurgeDue is true
	// when that time has come, and OrderlyFor how long an orderly removal must have been tried before.
	PurgeAt    time.Time     `json:"purgeAt,omitzero"`
	PurgeDue   bool          `json:"purgeDue,omitempty"`
	OrderlyFor time.Duration `json:"orderlyFor,omitempty"`
}

// elsewhereCheck is how soon it is checked again whether what a module is refused for has changed elsewhere: whether
// the registry has the component version, or a shared module the wanted version. Of the latter watchers tell at once;
// what they miss, and a module that nobody has any more, is found so.
const elsewhereCheck = 15 * time.Minute

// reconcileAt asks for another reconcile, at the earliest of all times that were asked for.
func (r *Result) reconcileAt(at time.Time, why string) {
	if at.IsZero() || !r.NextReconcile.IsZero() && !at.Before(r.NextReconcile) {
		return
	}
	r.NextReconcile, r.NextReconcileFor = at, why
}
