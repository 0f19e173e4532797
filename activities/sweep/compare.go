package sweep

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// check compares one Kyma and its Manifests with what their workflows last saw, and kicks what differs.
// Errors concern this Kyma alone: they are logged, and the next pass checks again. Kyma and Manifests are those that the
// cache has, and nobody may change them.
//
// A paused workflow is left alone. It would only collect kicks, until the server accepts no more. Once it is resumed, the next
// pass finds the same difference.
func (w *walk) check(ctx context.Context, kyma *v1beta2.Kyma, open Open, deadline time.Duration) {
	if w.options.Open.IsPaused(kick.KymaWorkflowID(kick.RefOf(kyma))) {
		return
	}
	reachable := !kyma.IsMarkedUnreachable()
	checkCtx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()

	modules, err := w.manifestsOf(checkCtx, kyma)
	if err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot list Manifests", about(kyma, err)...)
		return
	}
	if len(modules) == 0 && kymas.Released(kyma) {
		return // it waits for others' finalizers
	}
	found := w.compareControlPlane(checkCtx, kyma, modules, open)
	remote := w.compareRemote(checkCtx, kyma, reachable, found.paced != "")
	w.kickFor(ctx, kyma, found, remote)
	var quiet []*v1beta2.Manifest
	for i := range modules {
		if waitsForItsKyma(kyma, &modules[i]) {
			continue
		}
		if w.checkManifest(checkCtx, &modules[i], remote) {
			quiet = append(quiet, &modules[i])
		}
	}
	if remote.answers {
		w.compareModules(checkCtx, quiet)
	} else if kyma.IsMarkedUnreachable() {
		w.markUnreachable(ctx, kyma, modules)
	}
}

// isSkipped tells whether a Kyma has the label that keeps us from working on it. A reconcile would record
// nothing, so that its inputs would differ in every pass.
func isSkipped(kyma *v1beta2.Kyma) bool {
	return kyma.IsSkipReconciliation() && kyma.DeletionTimestamp.IsZero()
}

// waitsForItsKyma tells whether a Manifest is being deleted and has the label that keeps us from removing it for
// as long as its Kyma stays.
func waitsForItsKyma(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return m.IsSkipReconciliation() && !m.DeletionTimestamp.IsZero() && kyma.DeletionTimestamp.IsZero()
}

// finding is why a Kyma needs a reconcile, by what the control plane knows.
type finding struct {
	// reason is empty if it needs no whole reconcile.
	reason string
	// rollout is the digest of inputs that differ only in what many Kymas share: then the leader brings it to the Kyma when it
	// is its turn.
	paced string
	// stale is a Manifest that the status differs from: aggregating the status will do.
	stale *v1beta2.Manifest
	// gone is the kick for a Manifest that the status has and that is gone.
	gone *kick.Kick
}

// kickFor kicks the Kyma for what was found. What the cluster's owner changed there is a change of the spec like one in
// the control plane, and does not wait for a paced change.
func (w *walk) kickFor(ctx context.Context, kyma *v1beta2.Kyma, found finding, remote remoteView) {
	k := kick.Kick{Reason: found.reason, Kind: "Kyma", Namespace: kyma.Namespace, Name: kyma.Name, ResourceVersion: kyma.ResourceVersion}
	ofRemote := remote.reason != "" && !isSkipped(kyma)
	switch {
	case found.paced != "" && waitsForTurn(remote.reason):
		if w.pacing.overdue(kyma.UID, found.paced, w.options.Now(), w.options.PacingSpan+pacingIntervals*w.options.Interval) {
			w.kickKyma(ctx, kyma, k)
		}
		w.kickForStatus(ctx, kyma, found)
	case ofRemote && (found.reason == "" || found.paced != ""):
		k.Reason, k.Urgent = remote.reason, remote.answers
		w.kickKyma(ctx, kyma, k)
	case found.reason != "":
		w.kickKyma(ctx, kyma, k)
	default:
		w.kickForStatus(ctx, kyma, found)
	}
}

// kickForStatus kicks a Kyma whose status differs from a Manifest, to aggregate it.
func (w *walk) kickForStatus(ctx context.Context, kyma *v1beta2.Kyma, found finding) {
	switch stale := found.stale; {
	case found.gone != nil:
		w.kickKyma(ctx, kyma, *found.gone)
	case stale != nil:
		w.kickKyma(ctx, kyma, kick.Kick{
			Reason: "the status differs from a Manifest", Kind: shared.KindManifest,
			Namespace: stale.Namespace, Name: stale.Name, ResourceVersion: stale.ResourceVersion,
		})
	}
}

// compareControlPlane says why the Kyma needs a reconcile, by what the control plane knows.
func (w *walk) compareControlPlane(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest, open Open) finding {
	if !w.isOpen(ctx, open, kick.KymaWorkflowID(kick.RefOf(kyma))) {
		return finding{reason: "the Kyma has no open workflow"}
	}
	if !kyma.DeletionTimestamp.IsZero() {
		if kyma.Status.State != shared.StateDeleting {
			return finding{reason: "nothing was done about the Kyma's deletion"}
		}
		return finding{} // its workflow reconciles again by itself
	}
	if isSkipped(kyma) {
		return finding{}
	}
	digest, err := w.options.Inputs.Digest(ctx, kyma)
	if err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot compute the inputs digest", about(kyma, err)...)
		return finding{}
	}
	found := finding{stale: staleModule(kyma, modules), gone: w.missedRemoval(ctx, kyma, modules, digest)}
	if digest != kyma.Status.InputsDigest && !kyma.IsMarkedUnreachable() {
		found.reason = "the inputs differ from those last reconciled"
		if desired.OnlySharedChanged(kyma.Status.InputsDigest, digest) {
			found.paced = digest
		}
	}
	if found.reason == "" && found.stale != nil && awaitsUpgrade(kyma, found.stale) {
		found.reason = "a Manifest does not have the version that the status says"
	}
	if found.reason == "" && w.mayUpgradeInRemoval(ctx, kyma, modules) {
		found.reason = "a newer version may end a removal"
	}
	return found
}

// mayUpgradeInRemoval tells whether what is in the catalog now may end the removal of a module that nobody lists any more, and
// the Kyma does not know of it yet: it is no input of the Kyma's, so that no status says whether a reconcile has seen it.
func (w *walk) mayUpgradeInRemoval(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest) bool {
	digest, err := w.options.Inputs.Delisted(ctx, kyma, modules)
	if err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot read modules under removal", about(kyma, err)...)
		return false
	}
	if digest == "" {
		w.removals.forget(kyma.UID)
		return false
	}
	return w.removals.due(kyma.UID, digest, w.options.Now(), w.options.Interval)
}

// staleModule is a Manifest whose module has another state in the Kyma's status; nil if there is none.
func staleModule(kyma *v1beta2.Kyma, modules []v1beta2.Manifest) *v1beta2.Manifest {
	byName := lists.By(lists.Pointers(modules), func(each *v1beta2.Manifest) string { return each.Name })
	for _, module := range kyma.Status.Modules {
		if module.Manifest == nil {
			continue
		}
		m := byName[module.Manifest.Metadata.Name]
		if m == nil || m.Status.KnownState() == module.State || module.State == shared.StateDeleting {
			continue
		}
		switch m.Status.KnownState() {
		case shared.StateReady, shared.StateWarning, shared.StateError:
		default:
			continue
		}
		// A bad state with a message may be that of an entry that was refused, whatever its Manifest says. What is
		// on its way has a message too, but not once its Manifest has settled.
		if module.Message == "" || module.State == shared.StateProcessing && isSettled(m) {
			return m
		}
	}
	return nil
}

// awaitsUpgrade tells whether a Kyma's status is ahead of a Manifest, so that another report would say the same again.
func awaitsUpgrade(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return slices.ContainsFunc(kyma.Status.Modules, func(module v1beta2.ModuleStatus) bool { return module.AwaitsUpgrade(m) })
}

// isSettled tells whether a Manifest has settled for its present inputs.
func isSettled(m *v1beta2.Manifest) bool {
	return m.Status.Settled && m.DeletionTimestamp.IsZero() && m.Status.InputsDigest == manifests.InputsDigest(m)
}

// lacksSecret reports whether a module waits for a Secret of the control plane, which is no input of its Manifest.
func lacksSecret(m *v1beta2.Manifest) bool {
	last := m.Status.LastOperation
	return m.Status.State == shared.StateError && last != nil && last.Reason == injection.ReasonNotInjected
}

// remoteView is what a pass sees of a Kyma's cluster.
type remoteView struct {
	// reason says why the Kyma needs a reconcile; "" if it needs none.
	reason string
	// answers is true when the cluster answers, or there is none but the control plane.
	answers bool
	// back is true when it was marked unreachable and answers again.
	back bool
}

// compareRemote checks the Kyma's cluster. Of one under deletion it only sees whether it answers, and gives no reason
// but that it does again: what a removal finds there is its own to report, and it reconciles again by itself.
func (w *walk) compareRemote(ctx context.Context, kyma *v1beta2.Kyma, reachable, awaited bool) remoteView {
	if kyma.Status.Remote == nil {
		return remoteView{answers: true}
	}
	if reachable {
		w.reconnects.forget(kyma.UID)
	}
	changed, why, err := w.options.Remote.Probe(ctx, kyma, awaited)
	switch {
	case err == nil && !reachable && !w.reconnects.due(kyma.UID, "", w.options.Now(), w.options.Interval):
		return remoteView{} // the reconcile that followed its last answer found otherwise
	case err == nil && !reachable:
		return remoteView{reason: "the remote cluster can be reached again", answers: true, back: true}
	case err == nil && changed && kyma.DeletionTimestamp.IsZero():
		return remoteView{reason: why, answers: true}
	case err == nil:
		return remoteView{answers: true}
	case reachable && ctx.Err() == nil && fault.OfPersistent(err).Kind == fault.Unreachable && kyma.DeletionTimestamp.IsZero():
		return remoteView{reason: unreachable}
	}
	return remoteView{}
}

// unreachable is why a Kyma is kicked whose cluster does not answer.
const unreachable = "the remote cluster cannot be reached"

// checkManifest kicks the Kyma for a Manifest that is not settled and has not changed for an interval: a kick may have been lost.
// It reports whether there is nothing to do but to observe the module. A module whose inputs were refused stays as it is until
// they change, and one whose cluster does not answer until the cluster does.
func (w *walk) checkManifest(ctx context.Context, m *v1beta2.Manifest, remote remoteView) (quiet bool) {
	settled := isSettled(m)
	unchanged := w.options.Now().Sub(manifests.LastChange(m)) > w.options.Interval
	if settled {
		w.unsettled.forget(m.UID)
	}
	switch {
	case manifests.IsRefused(m) && !m.DeletionTimestamp.IsZero():
		// The change of the Kyma's plan that allows it may have been missed: the next reconcile asks for a plan once more.
		if unchanged && w.refusals.due(m.UID, "", w.options.Now(), w.options.Interval) {
			w.kickManifest(ctx, m, "the Manifest is still refused")
		}
		return false
	case !desired.InControlPlane(m) && !remote.answers:
		return false
	case settled && lacksSecret(m):
		w.kickManifest(ctx, m, "a Secret of the control plane was missing")
	case !settled && remote.back,
		m.Status.LastKnownState != "" && m.Status.LastKnownState != shared.StateReady && m.IsMaintained():
		w.kickManifest(ctx, m, "the remote cluster can be reached again")
	case !settled && unchanged && manifests.OnlyWaitedFor(m):
		// The workflow of its Kyma waits for the module to become ready, and checks nothing else.
		return true
	case !settled && unchanged:
		if w.unsettled.due(m.UID, m.Status.InputsDigest, w.options.Now(), w.options.Interval) {
			w.kickIfIdle(ctx, m, "the Manifest is not settled")
		}
	case settled && !m.IsSkipReconciliation() && !m.IsUnmanaged():
		state := m.Status.KnownState()
		return state == shared.StateReady || state == shared.StateWarning
	}
	return false
}

// isOpen tells whether a workflow is open. The list is from before the walk, so that a workflow that has begun since is
// not in it; of what is missing there, the server is asked. Should it not answer, the kick costs one reconcile too many.
func (w *walk) isOpen(ctx context.Context, open Open, id string) bool {
	if _, listed := open[id]; listed {
		return true
	}
	ok, err := w.options.Open.IsOpen(ctx, id)
	return err == nil && ok
}

// compareModules kicks Manifests whose modules are no longer as they were applied: in another state, or with objects that
// somebody changed. What cannot be read now is read in the next pass.
func (w *walk) compareModules(ctx context.Context, quiet []*v1beta2.Manifest) {
	if len(quiet) == 0 {
		return
	}
	differences, err := w.options.Modules.Probe(ctx, quiet, w.pass)
	if err != nil {
		activity.GetLogger(ctx).Debug("sweep: cannot see how modules are", logkey.Kyma, quiet[0].Namespace+"/"+quiet[0].KymaName(),
			logkey.EntityWorkflowID, kick.KymaWorkflowID(manifests.KymaRefOf(quiet[0])), logkey.Error, err)
	}
	for _, d := range differences {
		w.kickManifest(ctx, d.Manifest, d.Reason)
	}
	if err == nil {
		w.markReachable(ctx, quiet, differences)
	}
}

func (w *walk) manifestsOf(ctx context.Context, kyma *v1beta2.Kyma) ([]v1beta2.Manifest, error) {
	var list v1beta2.ManifestList
	err := w.options.Fleet.List(ctx, &list, client.InNamespace(kyma.Namespace), client.MatchingFields{fleet.IndexKymaUID: string(kyma.UID)}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

func (w *walk) kickKyma(ctx context.Context, kyma *v1beta2.Kyma, k kick.Kick) {
	w.send(ctx, kick.KymaWorkflowID(kick.RefOf(kyma)), func() error { return w.options.Kicks.Kyma(ctx, kick.RefOf(kyma), k) })
}

// kickManifest asks the Kyma's workflow for a step of a Manifest.
func (w *walk) kickManifest(ctx context.Context, m *v1beta2.Manifest, reason string) {
	w.askForStep(ctx, m, kick.Kick{Reason: reason, Deleting: !m.DeletionTimestamp.IsZero()})
}

// kickIfIdle is kickManifest for what somebody may be working on.
func (w *walk) kickIfIdle(ctx context.Context, m *v1beta2.Manifest, reason string) {
	w.askForStep(ctx, m, kick.Kick{Reason: reason, Deleting: !m.DeletionTimestamp.IsZero(), IfIdle: true})
}

func (w *walk) askForStep(ctx context.Context, m *v1beta2.Manifest, k kick.Kick) {
	k.Kind, k.ResourceVersion = shared.KindOfInstallation(m.Name), m.ResourceVersion
	kyma := manifests.KymaRefOf(m)
	w.send(ctx, kick.KymaWorkflowID(kyma), func() error { return w.options.Kicks.Manifest(ctx, kyma, kick.RefOf(m), k) })
}

// send delivers a kick to the workflow with this id.
func (w *walk) send(ctx context.Context, to string, deliver func() error) {
	if err := w.options.KickLimit.Wait(ctx); err != nil {
		return
	}
	if err := deliver(); err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot kick, the next pass will", logkey.EntityWorkflowID, to, logkey.Error, err)
		return
	}
	w.kicked.Add(1)
}

// about are what lines about a Kyma say of it.
func about(kyma *v1beta2.Kyma, err error) []any {
	return []any{
		logkey.Kyma, client.ObjectKeyFromObject(kyma).String(), logkey.EntityWorkflowID, kick.KymaWorkflowID(kick.RefOf(kyma)), logkey.Error, err,
	}
}
