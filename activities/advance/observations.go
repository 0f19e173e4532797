package advance

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// observations returns the state of the clusters that a rollout concerns, from informers. An informer that is behind
// shows an earlier state. Clusters that were just released then count as updating, so that no more are released than
// allowed.
func (a *Activities) observations(ctx context.Context, r *v1beta2.ModuleRollout) ([]rollout.Observation, error) {
	kymas, err := Concerned(ctx, a.Informers, a.Settings, r)
	if err != nil {
		return nil, err
	}
	observations := make([]rollout.Observation, 0, len(kymas))
	for _, kyma := range kymas {
		m, err := a.manifest(ctx, r, kyma)
		if err != nil {
			return nil, err
		}
		observations = append(observations, observe(r, kyma, m))
	}
	return observations, nil
}

// manifest returns the Manifest of the rollout's module, or nil if the Kyma has none.
func (a *Activities) manifest(ctx context.Context, r *v1beta2.ModuleRollout, kyma *v1beta2.Kyma) (*v1beta2.Manifest, error) {
	var list v1beta2.ManifestList
	err := a.Informers.List(ctx, &list, client.InNamespace(kyma.Namespace), client.MatchingFields{fleet.IndexKymaUID: string(kyma.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the Manifests of Kyma %s: %w", desired.NameOf(kyma), err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		if m.IsMandatory() == (r.Spec.Channel == "") && desired.EntryOf(m) == r.Spec.ModuleName {
			return m, nil
		}
	}
	return nil, nil //nolint:nilnil // having none is an ordinary case
}

func observe(r *v1beta2.ModuleRollout, kyma *v1beta2.Kyma, m *v1beta2.Manifest) rollout.Observation {
	s := rollout.Observation{
		Cluster: rollout.ClusterOf(kyma), Kyma: desired.NameOf(kyma),
		Unreachable: kyma.IsMarkedUnreachable(), Waits: kyma.IsSkipReconciliation(),
	}
	if remote := kyma.Status.Remote; remote != nil && remote.ReachableSince != nil {
		s.FreeSince = remote.ReachableSince.Time
	}
	for _, module := range kyma.Status.Modules {
		if module.Name != r.Spec.ModuleName || r.Spec.Channel == "" {
			continue
		}
		s.Waits = s.Waits || module.Maintenance || module.DeferredUntil != nil
		if module.DeferredUntil != nil {
			s.DeferredUntil = module.DeferredUntil.Time
		}
		if isRefused(r, module, m) {
			s.Refused, s.Reason, s.Message = true, string(module.State), module.Message
		}
	}
	if m == nil {
		return s
	}
	s.Version, s.Waits = m.Spec.Version, s.Waits || m.IsSkipReconciliation() || isAhead(r, kyma, m)
	if held, ok := rollout.HeldBackFrom(m, r.Spec.To); ok && r.Spec.Channel == "" {
		s.Waits = s.Waits || held.Waits
		if !held.Waits {
			s.Refused, s.Reason, s.Message = true, held.Reason, held.Message
		}
	}
	upgrade := rollout.UpgradeOf(m)
	s.Since, s.WasWell = upgrade.At, upgrade.WasWell
	if s.Since.IsZero() {
		s.Since = m.CreationTimestamp.Time
	}
	// If a module was ready in this version and no longer is, its time counts from that transition.
	if installed := meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionInstallation)); installed != nil &&
		m.Status.InstalledVersion == m.Spec.Version && installed.LastTransitionTime.After(s.Since) {
		s.Since = installed.LastTransitionTime.Time
	}
	s.Layer = m.Spec.Install.Source.Ref
	isCurrent := m.Status.ObservedGeneration == m.Generation
	state := m.Status.KnownState() // an unreachable cluster says nothing about the version
	switch state {
	case shared.StateReady, shared.StateWarning:
		// A complete installation is in this version, not in the previous one.
		if isCurrent && m.Status.InstalledVersion == m.Spec.Version {
			s.State = state
		}
	case shared.StateError:
		if isCurrent {
			s.State = state
		}
	case shared.StateProcessing, shared.StateDeleting, shared.StateUnmanaged, "":
	}
	if !s.Refused {
		s.Reason = string(state)
		if last := m.Status.LastOperation; last != nil {
			s.Reason, s.Message = cmp.Or(last.Reason, s.Reason), last.Operation
			s.AwaitsRegistry = s.State == shared.StateError && last.Reason == artifacts.ReasonRegistryUnavailable
		}
	}
	return s
}

// isRefused reports whether a Kyma's status says that the rollout's version is refused.
func isRefused(r *v1beta2.ModuleRollout, module v1beta2.ModuleStatus, m *v1beta2.Manifest) bool {
	return module.State == shared.StateError && module.RefusedVersion == r.Spec.To && (m == nil || m.Spec.Version != r.Spec.To)
}

// isAhead reports whether a cluster has a newer version than both versions of the rollout, for example from its previous
// channel. The rule against downgrades keeps that version, and this is not a failure.
func isAhead(r *v1beta2.ModuleRollout, kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return versions.IsDowngrade(m.Spec.Version, r.Spec.To) && versions.IsDowngrade(m.Spec.Version, r.Spec.From) &&
		kyma.Annotations[desired.AnnotationAllowDowngrade] != shared.ValueTrue
}
