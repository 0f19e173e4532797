package watchers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// PolicySource returns the digest of the current maintenance policy. It is implemented by *windows.Source.
type PolicySource interface {
	// Digest changes whenever the policy does.
	Digest() string
}

const (
	// checkPolicyEvery is how often the leader checks whether the maintenance policy changed.
	checkPolicyEvery = 5 * time.Second
	// policyReachesAll is the time after which every worker's mounted policy file should be current. The kubelet of
	// each node refreshes it about once a minute.
	policyReachesAll = 2 * time.Minute
)

// addMaintenance wakes the Kymas with upgrades that wait for a maintenance window. It does so when the policy changes
// and once at start, because the policy may have changed while no leader was watching.
func (w *watcher) addMaintenance(mgr manager.Manager) error {
	if w.Policies == nil {
		return nil
	}
	// A RunnableFunc needs leader election by default, so only the leader watches.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		watch := policyWatch{watcher: w}
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := watch.check(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "wake the Kymas that wait for a maintenance window, will try again")
			}
		}, checkPolicyEvery)
		return nil
	}))
}

// policyWatch remembers for which policy the waiting Kymas were kicked.
type policyWatch struct {
	*watcher
	// kickedFor is the digest of that policy; nil before the first check.
	kickedFor *string
	// again is when the Kymas are kicked a second time for the same policy, because a worker with an outdated policy
	// file would have reconciled in vain. It is zero once that is done.
	again time.Time
	// missed holds the Kymas that could not be kicked. The next check kicks only these.
	missed map[types.UID]bool
}

// check kicks the waiting Kymas if there is a reason to. The next check retries failed kicks.
func (p *policyWatch) check(ctx context.Context) error {
	digest, now := p.Policies.Digest(), p.Now()
	changed := p.kickedFor == nil || *p.kickedFor != digest
	all := changed || !p.again.IsZero() && !now.Before(p.again)
	if !all && len(p.missed) == 0 {
		return nil
	}
	kymas, err := p.waiting(ctx)
	if err != nil {
		return err
	}
	if !all {
		kymas = slices.DeleteFunc(kymas, func(k *v1beta2.Kyma) bool { return !p.missed[k.UID] })
	}
	p.missed, err = p.kickForPolicy(ctx, kymas)
	if all {
		p.kickedFor, p.again = &digest, time.Time{}
	}
	if changed {
		p.again = p.Now().Add(policyReachesAll)
	}
	return err
}

// waiting returns the Kymas of this instance with a module that waits for a window. It includes modules that a report
// made before this check already shows, under the new policy, as no longer waiting although their upgrade has not
// begun.
func (w *watcher) waiting(ctx context.Context) ([]*v1beta2.Kyma, error) {
	var list v1beta2.KymaList
	if err := w.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	all, err := w.mandatoryMayWait(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := w.manifestsByName(ctx)
	if err != nil {
		return nil, err
	}
	return lists.Filter(lists.Pointers(list.Items), func(kyma *v1beta2.Kyma) bool {
		return w.isOurs(kyma) && (all || waitsForWindow(kyma) || awaitsUpgrade(kyma, manifests))
	}), nil
}

// kickForPolicy kicks Kymas and returns those that could not be kicked. A failed kick does not stop the others.
func (w *watcher) kickForPolicy(ctx context.Context, kymas []*v1beta2.Kyma) (map[types.UID]bool, error) {
	missed := map[types.UID]bool{}
	var failed []error
	for _, kyma := range kymas {
		ref := kick.RefOf(kyma)
		k := kick.Kick{
			Reason: "maintenance policy changed", Kind: shared.KindKyma, Namespace: kyma.Namespace, Name: kyma.Name,
			ResourceVersion: kyma.ResourceVersion,
		}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, ref, k) }); err != nil {
			missed[kyma.UID] = true
			failed = append(failed, fmt.Errorf("kick Kyma %s: %w", ref, err))
		}
	}
	return missed, errors.Join(failed...)
}

// isOurs reports whether a Kyma belongs to this instance and is not being deleted.
func (w *watcher) isOurs(kyma *v1beta2.Kyma) bool {
	return kyma.DeletionTimestamp.IsZero() && w.Settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma)
}

// waitsForWindow reports whether an upgrade of one of the Kyma's modules waits for a maintenance window.
func waitsForWindow(kyma *v1beta2.Kyma) bool {
	return slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool { return m.Maintenance })
}

// awaitsUpgrade reports whether the Kyma's status has a module in a version other than its Manifest's.
func awaitsUpgrade(kyma *v1beta2.Kyma, manifests map[types.NamespacedName]*v1beta2.Manifest) bool {
	return slices.ContainsFunc(kyma.Status.Modules, func(module v1beta2.ModuleStatus) bool {
		if module.Manifest == nil {
			return false
		}
		m := manifests[types.NamespacedName{Namespace: module.Manifest.Metadata.Namespace, Name: module.Manifest.Metadata.Name}]
		return m != nil && module.AwaitsUpgrade(m)
	})
}

func (w *watcher) manifestsByName(ctx context.Context) (map[types.NamespacedName]*v1beta2.Manifest, error) {
	var list v1beta2.ManifestList
	if err := w.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Manifests: %w", err)
	}
	return lists.By(lists.Pointers(list.Items), func(each *v1beta2.Manifest) types.NamespacedName {
		return client.ObjectKeyFromObject(each)
	}), nil
}

// mandatoryMayWait reports whether a mandatory module may be waiting for a window. No Kyma's status shows mandatory
// modules.
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
