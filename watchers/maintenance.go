package watchers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// PolicySource tells by a digest which maintenance policy applies; *windows.Source does.
type PolicySource interface {
	// Digest changes whenever the policy does.
	Digest() string
}

const (
	// lookForPolicyEvery is how often the leader looks whether the maintenance policy changed.
	lookForPolicyEvery = 5 * time.Second
	// policyReachesAll is the time after which every worker's mounted file is expected to say what the leader's
	// does: the kubelet of each node renews it in its own time, about once a minute.
	policyReachesAll = 2 * time.Minute
)

// addMaintenance wakes the Kymas whose upgrades wait for a maintenance window when the policy changes, and once
// at start, because it may have changed while nobody watched.
func (w *watcher) addMaintenance(mgr manager.Manager) error {
	if w.Policies == nil {
		return nil
	}
	// A RunnableFunc needs leader election by default: only the leader watches.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		watch := policyWatch{watcher: w}
		for {
			if err := watch.look(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "wake the Kymas that wait for a maintenance window, will try again")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(lookForPolicyEvery):
			}
		}
	}))
}

// policyWatch remembers for which policy the waiting Kymas were kicked.
type policyWatch struct {
	*watcher
	// told is the digest of that policy; nil before the first time.
	told *string
	// again is when they are kicked once more for the same policy; zero when that is done. A worker whose file
	// was still the old one would have looked in vain.
	again time.Time
}

// look kicks the waiting Kymas where there is a reason to. What fails is tried again by the next look.
func (p *policyWatch) look(ctx context.Context) error {
	digest, now := p.Policies.Digest(), p.Now()
	changed := p.told == nil || *p.told != digest
	if !changed && (p.again.IsZero() || now.Before(p.again)) {
		return nil
	}
	if err := p.kickWaiting(ctx); err != nil {
		return err
	}
	p.told, p.again = &digest, time.Time{}
	if changed {
		p.again = p.Now().Add(policyReachesAll)
	}
	return nil
}

// kickWaiting kicks every Kyma of this instance that has a module waiting for a window. One that cannot be
// kicked does not keep the others waiting.
func (w *watcher) kickWaiting(ctx context.Context) error {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas); err != nil {
		return fmt.Errorf("list Kymas: %w", err)
	}
	all, err := w.mandatoryMayWait(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !w.isOurs(kyma) || !all && !waitsForWindow(kyma) {
			continue
		}
		ref := kick.RefOf(kyma)
		k := kick.Kick{
			Reason: "maintenance policy changed", Kind: "Kyma", Namespace: kyma.Namespace, Name: kyma.Name,
			ResourceVersion: kyma.ResourceVersion, Urgent: true,
		}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, ref, k) }); err != nil {
			failed = append(failed, fmt.Errorf("kick Kyma %s: %w", ref, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// isOurs tells whether a Kyma is this instance's to work on, and stays.
func (w *watcher) isOurs(kyma *v1beta2.Kyma) bool {
	return kyma.DeletionTimestamp.IsZero() && w.Settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma)
}

// waitsForWindow tells whether the policy decides about a module of a Kyma, whose upgrade waits.
func waitsForWindow(kyma *v1beta2.Kyma) bool {
	return slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool { return m.Maintenance })
}

// mandatoryMayWait tells whether any Kyma may wait with a mandatory module, which no status shows.
func (w *watcher) mandatoryMayWait(ctx context.Context) (bool, error) {
	var templates v1beta2.ModuleTemplateList
	if err := w.reader.List(ctx, &templates, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list ModuleTemplates: %w", err)
	}
	for i := range templates.Items {
		template := &templates.Items[i]
		if template.Spec.RequiresDowntime && w.Settings.Ours(template.Labels) && slices.Contains(w.keysOfTemplate(ctx, template), desired.MandatoryKey) {
			return true, nil
		}
	}
	return false, nil
}
