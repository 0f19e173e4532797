package workflows

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// secretGoneAfter is how far apart two looks must be that both find no access Secret, before the Secret
// of a Kyma under deletion counts as gone (docs/design/deletion-and-purge.md#lost-access).
const secretGoneAfter = 2 * time.Minute

const (
	// removalCheck is how long a removal waits for a kick before it looks for itself.
	removalCheck = time.Minute
	// maxRemovalCheck bounds the doubling of that wait while no kick comes: what blocks a removal, such as
	// a user's custom resource, may stay for months.
	maxRemovalCheck = 15 * time.Minute
)

// look is one whole look at the Kyma: the remote owner's wishes, the Manifests that follow, the status.
// A look that could not read the remote Kyma changes no Manifest.
func (r *kymaRun) look(ctx workflow.Context) error {
	pending, started := r.begin(ctx)
	if moment := r.state.NextLook; pending.Count == 0 && !moment.IsZero() && !moment.After(started) {
		r.background = r.logic >= logicBackground // such as that of a maintenance window, which begins for many
	}
	r.note(pending.Seen)
	r.doing(ctx, "looking: "+orElse(pending.Reason, "started"))
	if owed := r.state.OwedDigest; owed != "" {
		if r.state.OwedDigest = ""; r.background { // its turn may be far off
			if err := r.aggregate(ctx, owed, pending.Gone); err != nil {
				return err
			}
		}
	}

	var resolved *resolve.Result
	var stop bool
	var err error
	if r.background {
		stop, resolved, err = r.lookInBackground(ctx, &pending)
	} else {
		stop, err = r.synchronize(ctx)
	}
	if err != nil || stop {
		return r.endLook(ctx, started, err)
	}
	res := resolve.Result{}
	if r.state.SyncFault.IsZero() {
		if res, stop, err = r.resolveModules(ctx, resolved); err != nil || stop {
			return r.endLook(ctx, started, err)
		}
	}
	if !pending.Gone && r.mayReportLater(res) {
		return r.reportLater(ctx, started, res)
	}
	return r.endLook(ctx, started, r.aggregate(ctx, res.InputsDigest, pending.Gone))
}

// synchronize runs the sync with the remote cluster. It returns true when the look ends here, because
// the Kyma is gone or being deleted.
func (r *kymaRun) synchronize(ctx workflow.Context) (bool, error) {
	var res syncing.Result
	const summary = "synchronize the remote cluster"
	in := syncing.Input{Ref: r.ref, Seen: r.versions()}
	var err error
	if r.state.Sync.Outcome == "" {
		// The first brings definitions, for which an API server takes a few seconds.
		err = workflow.ExecuteActivity(writing(ctx, kick.RemoteQueue, summary), r.sync.SyncRemote, in).Get(ctx, &res)
	} else {
		err = r.do(ctx, kick.RemoteQueue, summary, &res, r.sync.SyncRemote, in)
	}
	return r.synchronized(res, err)
}

// synchronized notes what a synchronization came to.
func (r *kymaRun) synchronized(res syncing.Result, err error) (bool, error) {
	if temporal.IsCanceledError(err) {
		return true, err
	}
	if r.state.SyncFault = fault.FromTemporal(err); !r.state.SyncFault.IsZero() {
		return false, nil
	}
	r.state.Sync = res
	return r.ends(res.Outcome == syncing.OutcomeGone, res.Outcome == syncing.OutcomeDeleting), nil
}

// resolveModules writes the Manifests that the Kyma asks for, unless that was done in the background. What it returns is
// empty where that failed.
func (r *kymaRun) resolveModules(ctx workflow.Context, resolved *resolve.Result) (resolve.Result, bool, error) {
	var res resolve.Result
	var err error
	if resolved != nil {
		res = *resolved
	} else {
		err = r.do(ctx, kick.ControlPlaneQueue, "resolve modules and write Manifests", &res, r.resolve.ResolveKyma,
			resolve.Input{Ref: r.ref, Seen: append(r.versions(), r.state.Sync.TakenIn...), Background: r.background})
	}
	if temporal.IsCanceledError(err) {
		return resolve.Result{}, true, err
	}
	if r.state.ResolveFault = fault.FromTemporal(err); !r.state.ResolveFault.IsZero() {
		return resolve.Result{}, false, nil
	}
	r.state.ResolveFault = res.Fault
	r.noteWritten(res)
	r.state.NextLook, r.state.NextLookFor, r.state.Paced = res.NextReconcile, res.NextReconcileFor, res.Paced
	if soon := workflow.Now(ctx).Add(minNextLook); !res.NextReconcile.IsZero() && res.NextReconcile.Before(soon) {
		// The clock of the worker that looked is behind.
		r.state.NextLook = soon
	}
	gone := res.Outcome == resolve.OutcomeGone || res.Outcome == resolve.OutcomeNotOurs
	return res, r.ends(gone, res.Outcome == resolve.OutcomeDeleting), nil
}

// ends notes that the Kyma is gone or being deleted, and tells whether either is so.
func (r *kymaRun) ends(gone, deleting bool) bool {
	if gone {
		r.state.Last = status.ReportResult{Outcome: status.OutcomeGone}
	}
	if deleting && !r.state.Deleting {
		r.state.Deleting = true
		r.mail.put(kick.Kick{Reason: "Kyma is being deleted", Urgent: true, Deleting: true})
	}
	return gone || deleting
}

// report aggregates the status alone: what changed is the state of a Manifest.
func (r *kymaRun) report(ctx workflow.Context) error {
	pending, started := r.beginPart(ctx)
	r.note(pending.Seen)
	r.doing(ctx, "aggregating the status: "+pending.Reason)
	if err := r.aggregate(ctx, r.state.OwedDigest, pending.Gone); err != nil {
		return err
	}
	if r.state.ReportFault.IsZero() {
		r.state.OwedDigest = ""
		r.endPart(ctx, started)
	} else {
		r.end(ctx, started, r.worst())
		r.waitForNextLook(ctx)
	}
	r.forgetVersions()
	r.lookAgainIfNeeded()
	r.viewReport()
	return nil
}

// aggregate reads the Manifests' states and writes the one status of the Kyma. Gone is true when a Manifest was removed.
func (r *kymaRun) aggregate(ctx workflow.Context, digest string, gone bool) error {
	r.state.ReportFault = fault.Fault{}
	return r.reportKyma(ctx, status.ReportInput{
		Ref: r.ref, Seen: r.versions(), Deleted: r.deleted, InputsDigest: digest, Parked: digest == "" && waitsForInput(r.worst()), ManifestGone: gone,
		Faults:     r.state.Sync.Faults.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault),
		Synced:     r.state.Sync.Outcome == syncing.OutcomeSynced,
		CatalogOff: r.state.Sync.CatalogOff,
		Refused:    r.state.Sync.Refused, TakenIn: r.state.Sync.TakenIn,
	})
}

// waitsForInput tells whether only a change of the inputs can mend a fault; the access Secret is one of them.
func waitsForInput(f fault.Fault) bool {
	return f.Kind == fault.Rejected || f.Reason == clusters.ReasonAccessSecretNotFound
}

// reportKyma writes the status, together with its remote copy where the remote cluster was last reached.
func (r *kymaRun) reportKyma(ctx workflow.Context, in status.ReportInput) error {
	in.Push = r.hasRemote() && r.state.SyncFault.IsZero()
	return r.writeReport(ctx, in)
}

// reportRemoval writes the status of a Kyma under deletion. With again its remote copy is tried also where the cluster
// was last not reached: nothing else asks it while modules are left. What was busy then is not said to be so now.
func (r *kymaRun) reportRemoval(ctx workflow.Context, in status.ReportInput, again bool) error {
	if again && r.state.SyncFault.Kind == fault.Transient {
		r.state.SyncFault = fault.Fault{}
	}
	in.Ref = r.ref
	in.Faults = fault.Parts{}.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault)
	in.Push = r.hasRemote() && (again || r.state.SyncFault.IsZero())
	return r.writeReport(ctx, in)
}

func (r *kymaRun) writeReport(ctx workflow.Context, in status.ReportInput) error {
	queue, summary := kick.ControlPlaneQueue, "aggregate the status"
	if in.Push {
		queue, summary = kick.RemoteQueue, "aggregate the status, also in the remote cluster"
	}
	var res status.ReportResult
	err := r.do(ctx, queue, summary, &res, r.status.ReportKyma, in)
	if temporal.IsCanceledError(err) {
		return err
	}
	if r.state.ReportFault = fault.FromTemporal(err); !r.state.ReportFault.IsZero() {
		return nil
	}
	r.state.Last = res
	r.ends(res.Outcome == status.OutcomeGone, res.Deleting)
	if r.gone() {
		return nil
	}
	if res.Pushed || in.Push && !res.Push.IsZero() {
		r.state.SyncFault = res.Push
	}
	return r.publishReport(ctx)
}

// hasRemote tells whether there may be a remote cluster.
func (r *kymaRun) hasRemote() bool {
	return r.state.Sync.Outcome == syncing.OutcomeSynced || r.state.Sync.Outcome == syncing.OutcomeDeleting
}

// endLook closes the look, whatever it came to.
func (r *kymaRun) endLook(ctx workflow.Context, started time.Time, err error) error {
	if err != nil {
		return err
	}
	r.state.Looked = true
	r.forgetVersions()
	r.end(ctx, started, r.worst())
	r.waitForNextLook(ctx)
	r.lookAgainIfNeeded()
	r.viewReport()
	return nil
}

// minNextLook is how soon a look that asks for another gets it.
const minNextLook = 5 * time.Second

// nextLookSpread is the span over which the fleet looks when a window begins for all of it.
const nextLookSpread = 30 * time.Second

// waitForNextLook sets the durable timer that the last look asked for, unless a failed one is repeated before.
func (r *kymaRun) waitForNextLook(ctx workflow.Context) {
	if !r.state.NextLook.After(workflow.Now(ctx)) {
		// Its time came, and the look could not get so far as to ask for another: what failed is tried again as
		// everything is.
		r.state.NextLook, r.state.NextLookFor, r.state.Paced = time.Time{}, "", false
	}
	if r.state.NextLook.IsZero() || r.state.Deleting {
		return
	}
	at := r.state.NextLook.Add(spread(r.id, nextLookSpread))
	if r.retryAt.IsZero() || at.Before(r.retryAt) {
		r.retryAt = at
	}
}

// lookAgainIfNeeded makes one more look pending where the report saw that the inputs moved on. A look that
// failed is repeated by its retry or by a change, never by this. A change of what many Kymas share waits for the
// Kyma's turn.
func (r *kymaRun) lookAgainIfNeeded() {
	last := r.state.Last
	if !last.NeedsReconcile || !r.fault.IsZero() || r.state.Paced || r.state.Deleting || r.gone() {
		return
	}
	k := kick.Kick{Reason: "inputs changed since the last look"}
	if !last.ReconcileAt.IsZero() {
		k.NotBefore = &last.ReconcileAt
	}
	r.mail.put(k)
}

// worst is the fault that decides when the look is repeated: one that can be retried before one that
// waits for a change.
func (r *kymaRun) worst() fault.Fault {
	var faults fault.Parts
	if !r.state.Deleting {
		faults = r.state.Sync.Faults
	}
	return faults.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault).
		With(fault.PartReport, r.state.ReportFault).ToRetry()
}

// remove takes one step of the removal of a Kyma, in the order of docs/contract.md#removal.
func (r *kymaRun) remove(ctx workflow.Context) error {
	pending, started := r.begin(ctx)
	r.note(pending.Seen)
	r.doing(ctx, "removing")
	r.state.RemovalChecks++
	if pending.Count > 0 {
		r.state.RemovalChecks = 0
	}
	again := r.state.Last.State == shared.StateDeleting
	if !again {
		// The state is shown here and in the remote cluster before anything is taken away. What was wrong with the
		// Kyma's wishes does not matter any more.
		r.state.ResolveFault = fault.Fault{}
		if err := r.reportRemoval(ctx, status.ReportInput{Waiting: "modules are being removed"}, true); err != nil {
			return err
		}
	}

	var left resolve.DeleteResult
	err := r.do(ctx, kick.ControlPlaneQueue, "delete the Manifests", &left,
		r.resolve.DeleteManifests, resolve.Input{Ref: r.ref, Seen: r.versions()})
	if temporal.IsCanceledError(err) {
		return err
	}
	if r.state.ResolveFault = fault.FromTemporal(err); err == nil {
		r.state.ResolveFault = left.Fault
	}
	if err == nil && left.Outcome == resolve.OutcomeGone {
		r.ends(true, false)
		return r.endLook(ctx, started, nil)
	}
	if err == nil && left.Alive {
		r.comeBack()
		return r.endLook(ctx, started, nil)
	}
	lost := err == nil && len(left.Left) > 0 && r.accessIsLost(ctx, left)
	if r.mustPurge(ctx, left, err) {
		r.state.Purge.purgesLost(false)
		return r.endRemoval(ctx, started, r.purge(ctx, left, again))
	}
	if err == nil {
		r.state.Purge.purgesLost(lost)
	}
	if lost {
		return r.endRemoval(ctx, started, r.purgeModules(ctx, left.WithoutAccess, again, "the access Secret is gone, modules are let go: "+strings.Join(left.Left, ", ")))
	}
	if err != nil || len(left.Left) > 0 {
		waits := "modules are being removed: " + strings.Join(left.Left, ", ")
		return r.endRemoval(ctx, started, r.reportRemoval(ctx, status.ReportInput{Waiting: waits}, again))
	}
	return r.endRemoval(ctx, started, r.cleanUp(ctx))
}

// comeBack turns a removal into the life of a Kyma that is there and is not being deleted, as after a restore of the
// control plane: the truth counts, not what was under way.
func (r *kymaRun) comeBack() {
	r.state.Deleting, r.state.Purge, r.state.SecretMissingSince, r.state.RemovalChecks = false, PurgeCarry{}, time.Time{}, 0
	r.mail.put(kick.Kick{Reason: "the Kyma is not being deleted any more", Urgent: true})
}

// cleanUp removes what is ours in the remote cluster, then lets the Kyma go.
func (r *kymaRun) cleanUp(ctx workflow.Context) error {
	var res syncing.Result
	err := workflow.ExecuteActivity(writing(ctx, kick.RemoteQueue, "clean up the remote cluster"),
		r.sync.CleanupRemote, syncing.CleanupInput{Ref: r.ref, Seen: r.versions()}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return err
	}
	r.state.SyncFault = fault.FromTemporal(err)
	letGo := ""
	if gone := r.secretIsGone(ctx, r.state.SyncFault.Reason); gone {
		letGo = "catalog, remote Kyma, definitions and image pull Secret are left in the remote cluster: its access Secret is gone"
	} else if err != nil {
		return r.reportRemoval(ctx, status.ReportInput{Waiting: "the remote cluster cannot be cleaned up: " + r.state.SyncFault.Message}, false)
	}
	return r.release(ctx, "release the finalizer", letGo)
}

// release lets the Kyma go. That is never done within the workflow task: it causes a signal, and a task that ends a run is
// refused while one is on its way.
func (r *kymaRun) release(ctx workflow.Context, summary, letGo string) error {
	var released status.ReportResult
	err := workflow.ExecuteActivity(writing(ctx, kick.ControlPlaneQueue, summary),
		r.status.ReleaseKyma, status.ReleaseInput{Ref: r.ref, Seen: r.versions(), LetGo: letGo}).Get(ctx, &released)
	if temporal.IsCanceledError(err) {
		return err
	}
	r.state.ResolveFault = fault.FromTemporal(err)
	if err == nil {
		r.state.SyncFault = fault.Fault{}
		r.state.Last.Outcome = released.Outcome
	}
	return nil
}

// accessIsLost tells whether Manifests are left that cannot be removed because the access Secret is gone.
func (r *kymaRun) accessIsLost(ctx workflow.Context, left resolve.DeleteResult) bool {
	if !left.Access.IsZero() {
		r.state.SyncFault = left.Access
	}
	return r.secretIsGone(ctx, left.Access.Reason) && len(left.WithoutAccess) > 0
}

// secretIsGone tells whether two looks, far enough apart, both found no access Secret. It is given what this look
// found.
func (r *kymaRun) secretIsGone(ctx workflow.Context, reason string) bool {
	if reason != clusters.ReasonAccessSecretNotFound {
		r.state.SecretMissingSince = time.Time{}
		return false
	}
	if r.state.SecretMissingSince.IsZero() {
		r.state.SecretMissingSince = workflow.Now(ctx)
		return false
	}
	return workflow.Now(ctx).Sub(r.state.SecretMissingSince) >= secretGoneAfter
}

// endRemoval closes a step of the removal; what it waits for kicks, and if a kick is lost it looks for itself,
// less and less often.
func (r *kymaRun) endRemoval(ctx workflow.Context, started time.Time, err error) error {
	if err := r.endLook(ctx, started, err); err != nil || r.gone() {
		return err
	}
	wait := min(removalCheck<<min(r.state.RemovalChecks, 8), maxRemovalCheck)
	check := workflow.Now(ctx).Add(wait + spread(r.id, wait/4))
	if sooner := r.purgeCheck(ctx); !sooner.IsZero() && sooner.Before(check) {
		check = sooner
	}
	if second := r.state.SecretMissingSince.Add(secretGoneAfter); second.After(workflow.Now(ctx)) && second.Before(check) {
		check = second
	}
	if r.retryAt.IsZero() || r.retryAt.After(check) {
		r.retryAt = check
	}
	r.state.Purge.Next = r.retryAt
	return nil
}

// publishReport upserts what the last report says for searches.
func (r *kymaRun) publishReport(ctx workflow.Context) error {
	return r.publish(ctx, map[string]string{
		kick.AttributeKymaName:      r.ref.Name,
		kick.AttributeKymaState:     string(r.state.Last.State),
		kick.AttributeKymaChannel:   r.state.Last.Channel,
		kick.AttributeRemoteCluster: r.state.Sync.Cluster,
	})
}

// viewReport copies the last report into what the query and the current details show.
func (r *kymaRun) viewReport() {
	last := r.state.Last
	r.view.Forced = r.state.Purge.Forced
	r.view.State, r.view.Message, r.view.Modules = string(last.State), last.Message, nil
	for _, m := range last.Modules {
		r.view.Modules = append(r.view.Modules, Row{Name: m.Name, Version: m.Version, State: string(m.State), Message: m.Message})
	}
}

// note notes the versions that kicks told of, for the look that answers them.
func (r *kymaRun) note(seen []SeenVersion) {
	r.seen, r.deleted = seen, false
	for _, s := range seen {
		if s.Kind == shared.KindManifest && isNewer(s.ResourceVersion, r.state.NewestManifest) {
			r.state.NewestManifest = s.ResourceVersion
		}
	}
}

// noteWritten notes what a look did to Manifests: what follows must not go by an earlier state of theirs.
func (r *kymaRun) noteWritten(res resolve.Result) {
	r.deleted = len(res.Deleted) > 0
	for _, wrote := range res.Wrote {
		if isNewer(wrote.ResourceVersion, r.state.NewestManifest) {
			r.state.NewestManifest = wrote.ResourceVersion
		}
	}
}

// forgetVersions forgets the newest version when a look has ended. While the Kyma is being deleted it stays, but not once
// nobody came to know of it in all tries: a control plane that was restored from a backup counts from an earlier version on.
func (r *kymaRun) forgetVersions() {
	behind := false
	for _, f := range []fault.Fault{r.state.SyncFault, r.state.ResolveFault, r.state.ReportFault} {
		behind = behind || f.Reason == fleet.ReasonBehind
	}
	if behind || !r.state.Deleting {
		r.state.NewestManifest = ""
	}
}

// versions are those that the caches of who works on the Kyma must have.
func (r *kymaRun) versions() []desired.Seen {
	out := make([]desired.Seen, 0, len(r.seen)+1)
	for _, s := range r.seen {
		out = append(out, desired.Seen(s))
	}
	if r.state.NewestManifest != "" {
		out = append(out, desired.Seen{Kind: shared.KindManifest, ResourceVersion: r.state.NewestManifest})
	}
	return out
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
