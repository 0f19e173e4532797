package advance

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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

// observations are what informers know of the clusters that a rollout concerns. An informer that is behind shows clusters as they
// were: those that were just released count as updating, so that no more are released than may be.
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

// manifest is the Manifest of the rollout's module; nil where the Kyma has none.
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
	// What was ready in this version and is not any more has its time from then on.
	if installed := meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionInstallation)); installed != nil &&
		m.Status.InstalledVersion == m.Spec.Version && installed.LastTransitionTime.After(s.Since) {
		s.Since = installed.LastTransitionTime.Time
	}
	s.Layer = m.Spec.Install.Source.Ref
	isCurrent := m.Status.ObservedGeneration == m.Generation
	state := m.Status.KnownState() // an unreachable cluster says nothing about the version
	switch state {
	case shared.StateReady, shared.StateWarning:
		// What is installed completely is in this version, and not in the one before.
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

// isRefused tells whether a Kyma's status says that it does not get the rollout's version. Where the module is installed, the
// status shows the version that is, and names the one that is refused, or its template, in the message only.
func isRefused(r *v1beta2.ModuleRollout, module v1beta2.ModuleStatus, m *v1beta2.Manifest) bool {
	switch {
	case module.State != shared.StateError:
		return false
	case m == nil:
		return module.Version == r.Spec.To
	default:
		return m.Spec.Version != r.Spec.To && strings.Contains(module.Message, r.Spec.To)
	}
}

// isAhead tells whether a cluster has a newer version than those that the rollout is about, such as that of another channel
// which it had before: by the rule against downgrades it keeps that, and nothing has failed.
func isAhead(r *v1beta2.ModuleRollout, kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return versions.IsDowngrade(m.Spec.Version, r.Spec.To) && versions.IsDowngrade(m.Spec.Version, r.Spec.From) &&
		kyma.Annotations[desired.AnnotationAllowDowngrade] != shared.ValueTrue
}
