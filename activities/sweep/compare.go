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

// check compares one Kyma and its Manifests with the state that their workflows last recorded, and kicks the differences.
// Errors affect only this Kyma: they are logged, and the next pass checks again. Kyma and Manifests come from the cache
// and must not be changed.
//
// check skips a paused workflow, because the workflow would only collect kicks until the server refuses more. After it is
// resumed, the next pass finds the same difference.
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
		return // the Kyma waits for the finalizers of others
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

// isSkipped reports whether a Kyma has the label skip-reconciliation. A reconcile of such a Kyma records nothing, so its
// inputs would differ in every pass.
func isSkipped(kyma *v1beta2.Kyma) bool {
	return kyma.IsSkipReconciliation() && kyma.DeletionTimestamp.IsZero()
}

// waitsForItsKyma reports whether a Manifest is being deleted and has the label skip-reconciliation. Such a Manifest is
// not removed before its Kyma is deleted.
func waitsForItsKyma(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return m.IsSkipReconciliation() && !m.DeletionTimestamp.IsZero() && kyma.DeletionTimestamp.IsZero()
}

// finding says why a Kyma needs a reconcile, based on the control plane alone.
type finding struct {
	// reason is empty if the Kyma needs no full reconcile.
	reason string
	// paced is the inputs digest if only inputs that many Kymas share have changed. The leader then kicks the Kyma when
	// its turn comes.
	paced string
	// stale is a Manifest that the Kyma's status does not match. Aggregating the status is enough.
	stale *v1beta2.Manifest
	// gone is the kick for a Manifest that the status lists but that no longer exists.
	gone *kick.Kick
}

// kickFor kicks the Kyma for the findings. An edit by the cluster's owner in the remote cluster counts like a change of
// the spec in the control plane, and does not wait for a paced change.
func (w *walk) kickFor(ctx context.Context, kyma *v1beta2.Kyma, found finding, remote remoteView) {
	k := kick.Kick{Reason: found.reason, Kind: shared.KindKyma, Namespace: kyma.Namespace, Name: kyma.Name, ResourceVersion: kyma.ResourceVersion}
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

// kickForStatus kicks a Kyma to aggregate its status, if the status does not match a Manifest.
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

// compareControlPlane returns why the Kyma needs a reconcile, based on the control plane alone.
func (w *walk) compareControlPlane(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest, open Open) finding {
	if !w.isOpen(ctx, open, kick.KymaWorkflowID(kick.RefOf(kyma))) {
		return finding{reason: "the Kyma has no open workflow"}
	}
	if !kyma.DeletionTimestamp.IsZero() {
		if kyma.Status.State != shared.StateDeleting {
			return finding{reason: "nothing was done about the Kyma's deletion"}
		}
		return finding{} // its workflow reconciles again on its own
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

// mayUpgradeInRemoval reports whether the catalog has a version that may end the removal of a delisted module and that
// the Kyma has not been kicked for yet. Such a version is not one of the Kyma's inputs, so no status shows whether a
// reconcile has seen it.
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

// staleModule returns a Manifest whose state differs from its module's state in the Kyma's status, or nil if there is
// none.
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
		// A bad state with a message may belong to a refused entry, whatever its Manifest says. A module in processing
		// has a message too, but not after its Manifest has settled.
		if module.Message == "" || module.State == shared.StateProcessing && isSettled(m) {
			return m
		}
	}
	return nil
}

// awaitsUpgrade reports whether a Kyma's status is ahead of a Manifest. Another report would then change nothing.
func awaitsUpgrade(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return slices.ContainsFunc(kyma.Status.Modules, func(module v1beta2.ModuleStatus) bool { return module.AwaitsUpgrade(m) })
}

// isSettled reports whether a Manifest has settled for its current inputs.
func isSettled(m *v1beta2.Manifest) bool {
	return m.Status.Settled && m.DeletionTimestamp.IsZero() && m.Status.InputsDigest == manifests.InputsDigest(m)
}

// lacksSecret reports whether a module waits for a Secret of the control plane. The Secret is not an input of its
// Manifest.
func lacksSecret(m *v1beta2.Manifest) bool {
	last := m.Status.LastOperation
	return m.Status.State == shared.StateError && last != nil && last.Reason == injection.ReasonNotInjected
}

// remoteView is what a pass has found out about a Kyma's cluster.
type remoteView struct {
	// reason says why the Kyma needs a reconcile. It is empty if the Kyma needs none.
	reason string
	// answers is true if the cluster answers, or if the Kyma has no remote cluster.
	answers bool
	// back is true if the cluster was marked unreachable and answers again.
	back bool
}

// compareRemote checks the Kyma's cluster. If the Kyma is being deleted, compareRemote reports only whether the cluster
// answers, and the only possible reason is that the cluster answers again. The removal reports its own findings and
// reconciles on its own.
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
		return remoteView{} // the reconcile after the last answer found the cluster unreachable
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

// unreachable is the reason of the kick if a Kyma's cluster does not answer.
const unreachable = "the remote cluster cannot be reached"

// checkManifest kicks the Kyma for a Manifest that has not settled and has not changed for an interval, because a kick
// may have been lost. It reports whether the module only has to be observed. A Manifest whose inputs were refused is
// skipped until the inputs change, and a Manifest whose cluster does not answer is skipped until the cluster does.
func (w *walk) checkManifest(ctx context.Context, m *v1beta2.Manifest, remote remoteView) (quiet bool) {
	settled := isSettled(m)
	unchanged := w.options.Now().Sub(manifests.LastChange(m)) > w.options.Interval
	if settled {
		w.unsettled.forget(m.UID)
	}
	switch {
	case manifests.IsRefused(m) && !m.DeletionTimestamp.IsZero():
		// The sweep may have missed a change of the Kyma's plan that allows the Manifest. The next reconcile asks for a
		// plan again.
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
		// The Kyma's workflow waits for the module to become ready, and checks nothing else.
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

// isOpen reports whether a workflow is open. The list dates from before the walk, so it lacks workflows that started
// since; isOpen asks the server about a missing one. If the server does not answer, isOpen returns false, and the kick
// costs one needless reconcile.
func (w *walk) isOpen(ctx context.Context, open Open, id string) bool {
	if _, listed := open[id]; listed {
		return true
	}
	ok, err := w.options.Open.IsOpen(ctx, id)
	return err == nil && ok
}

// compareModules kicks Manifests whose modules have changed: their state differs, or somebody changed their objects. A
// module that cannot be read now is read in the next pass.
func (w *walk) compareModules(ctx context.Context, quiet []*v1beta2.Manifest) {
	if len(quiet) == 0 {
		return
	}
	differences, err := w.options.Modules.Probe(ctx, quiet, w.pass)
	if err != nil {
		activity.GetLogger(ctx).Debug("sweep: cannot read the states of modules", logkey.Kyma, quiet[0].Namespace+"/"+quiet[0].KymaName(),
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

// kickManifest asks the Kyma's workflow to work on a Manifest.
func (w *walk) kickManifest(ctx context.Context, m *v1beta2.Manifest, reason string) {
	w.askForStep(ctx, m, kick.Kick{Reason: reason, Deleting: !m.DeletionTimestamp.IsZero()})
}

// kickIfIdle is kickManifest for a Manifest that the workflow may already be working on.
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
		activity.GetLogger(ctx).Warn("sweep: cannot kick; the next pass tries again", logkey.EntityWorkflowID, to, logkey.Error, err)
		return
	}
	w.kicked.Add(1)
}

// about returns the log fields for a Kyma.
func about(kyma *v1beta2.Kyma, err error) []any {
	return []any{
		logkey.Kyma, client.ObjectKeyFromObject(kyma).String(), logkey.EntityWorkflowID, kick.KymaWorkflowID(kick.RefOf(kyma)), logkey.Error, err,
	}
}
