// Package resolve turns the modules that a Kyma asks for into Manifests.
//
// ResolveKyma gathers all inputs of a Kyma (catalog, Secrets, rollouts, maintenance windows), makes a plan, and creates,
// updates and deletes Manifests accordingly. DeleteManifests deletes all Manifests of a Kyma under deletion. Planner
// makes plans without writing anything; the pure decisions are in package planning.
//
// What must stay true:
//   - The absence of a catalog object removes nothing. A removal needs an object that positively asks for it, such as a
//     release meta under deletion (see Planner.obsolete).
//   - A change of the catalog never removes a module from many Kymas without approval (removalGuard). All other removals
//     count in the removal budget (Budget).
//   - The planned Manifests are recorded in the Kyma's status before they are written (recordPlan). Installers refuse a
//     Manifest that no plan has.
//   - A stale informer cannot cause a wrong write. Manifests to remove or replace are read live first (confirm), and
//     updates carry the uid and resourceVersion that were planned for.
//   - If nothing changed, nothing is written.
package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome says how a reconcile of a Kyma ended.
type Outcome string

const (
	// OutcomeGone means that the Kyma does not exist, or that another Kyma with the same name does. Nothing was changed.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Kyma is being deleted.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeSkipped means that the Kyma carries the skip-reconciliation label, or is a synced copy.
	OutcomeSkipped Outcome = "Skipped"
	// OutcomeNotOurs means that another instance manages the Kyma.
	OutcomeNotOurs Outcome = "NotOurs"
	// OutcomeDone means that the Manifests match the plan.
	OutcomeDone Outcome = "Done"
)

// Input names the Kyma to reconcile.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Seen are the newest versions of cached objects that kicks named. If a cache is older, it is bypassed by a live
	// read.
	Seen []desired.Seen `json:"seen,omitempty"`
	// Background is true if nobody waits for this reconcile. The work that follows from it gets a low priority too.
	Background bool `json:"background,omitempty"`
	// Since is when a watcher saw the change that caused this reconcile, or zero if this is unknown.
	Since time.Time `json:"since,omitzero"`
	// Modules are the names of modules to install again even if they have settled.
	Modules []string `json:"modules,omitempty"`
	// live requires that Manifests are read live before they are changed.
	live bool
}

// Result reports what a reconcile found and did. It contains names of objects, never their bodies.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// InputsDigest is the digest of all inputs of this reconcile.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Synced is true if the Kyma has a remote cluster.
	Synced bool `json:"synced,omitempty"`
	// AwaitsSync is true if the remote Kyma was never accepted completely. Nothing was changed: the Kyma must be
	// synchronized first and then reconciled again.
	AwaitsSync bool   `json:"awaitsSync,omitempty"`
	Channel    string `json:"channel,omitempty"`
	// Created, Updated and Deleted are the names of Manifests written by this reconcile.
	Created []string `json:"created,omitempty"`
	Updated []string `json:"updated,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	// Begin are the Kyma's Manifests that nothing has started to install with their current inputs, and those of the
	// modules in Input.Modules. Unsettled are the other Manifests that have not settled. Removing are the Manifests under
	// deletion.
	Begin     []kick.Ref `json:"begin,omitempty"`
	Unsettled []kick.Ref `json:"unsettled,omitempty"`
	Removing  []kick.Ref `json:"removing,omitempty"`
	// Wrote are the versions of Manifests that this reconcile created or changed. An older cache does not show these
	// writes.
	Wrote []desired.Seen `json:"wrote,omitempty"`
	// Refused counts module entries that could not be resolved; the status says why.
	Refused int `json:"refused,omitempty"`
	// NextReconcile is when to reconcile again without a kick, for example at the beginning of a maintenance window. Zero
	// means never. NextReconcileFor says what the Kyma waits for.
	NextReconcile time.Time `json:"nextReconcile,omitzero"`
	// Paced is true if a removal waits for its turn at NextReconcile.
	Paced bool `json:"paced,omitempty"`
	// Kyma is the Kyma's version after this reconcile. The next step must see this version.
	Kyma string `json:"kyma,omitempty"`
	// written are the Manifests that this reconcile created or changed, in their new version. absent are the names of
	// Manifests that an earlier live read did not find.
	written []*v1beta2.Manifest
	absent  []string
	// Fault is the part of this reconcile that cannot succeed without a change. Everything else was done.
	Fault            fault.Fault `json:"fault,omitzero"`
	NextReconcileFor string      `json:"nextReconcileFor,omitempty"`
}

// DeleteResult lists the remaining Manifests of a Kyma under deletion.
type DeleteResult struct {
	Outcome Outcome `json:"outcome"`
	// Alive is true if the Kyma exists and is not being deleted. Nothing was changed.
	Alive bool `json:"alive,omitempty"`
	// Remaining are the names of the Manifests that still exist, including those that could not be deleted. Fault says
	// why.
	Remaining []string    `json:"remaining,omitempty"`
	Fault     fault.Fault `json:"fault,omitzero"`
	// Manifests are the remaining Manifests, which may be purged. Removing are those that are being deleted.
	Manifests []kick.Ref `json:"manifests,omitempty"`
	Removing  []kick.Ref `json:"removing,omitempty"`
	// Access is the fault that a live read found no access Secret in any of its places. WithoutAccess are the Manifests
	// that cannot be removed without one. Both are empty if no Manifest needs the Secret.
	Access        fault.Fault `json:"access,omitzero"`
	WithoutAccess []kick.Ref  `json:"withoutAccess,omitempty"`
	// PurgeAt is when the deletion must be forced, according to the current Kyma. Zero means never. PurgeDue is true if
	// that time has come. OrderlyFor is how long an orderly removal must have been tried before.
	PurgeAt    time.Time     `json:"purgeAt,omitzero"`
	PurgeDue   bool          `json:"purgeDue,omitempty"`
	OrderlyFor time.Duration `json:"orderlyFor,omitempty"`
}

// elsewhereCheck is the interval for checking again whether a refused module has become available: whether the registry
// has the component version, or a shared module has the wanted version. Watchers report changes of a shared module
// immediately. The interval covers changes that they miss, and a module that no Kyma has any more.
const elsewhereCheck = 15 * time.Minute

// reconcileAt requests another reconcile. The earliest requested time wins.
func (r *Result) reconcileAt(at time.Time, why string) {
	if at.IsZero() || !r.NextReconcile.IsZero() && !at.Before(r.NextReconcile) {
		return
	}
	r.NextReconcile, r.NextReconcileFor = at, why
}
