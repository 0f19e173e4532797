package resolve

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// owners lists the Manifests for a component from the cache of the fleet.
func (p *Planner) owners(ctx context.Context) func(component string) ([]v1beta2.Manifest, error) {
	if p.gate.fleet == nil {
		return nil
	}
	return func(component string) ([]v1beta2.Manifest, error) {
		var list v1beta2.ManifestList
		err := p.gate.fleet.List(ctx, &list, client.MatchingFields{ManifestsByComponent: component}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("list the Manifests of component %s: %w", component, err)
		}
		return list.Items, nil
	}
}

// checkShared refuses a module for the control plane that another Kyma has there in another version
// (docs/contract.md#namespaces-and-defaults). The one that installs it may change its version, and the others follow.
func (p *planning) checkShared(e *entry) *Refusal {
	if p.Owners == nil {
		return nil
	}
	owners, err := p.Owners(e.component)
	if err != nil {
		refusal := refuse(ReasonSharedVersion, "module %s: %v", e.module.Name, err)
		refusal.Transient, refusal.Err, refusal.Elsewhere = true, err, "the version of the shared module"
		return refusal
	}
	holder := desired.Holder(owners)
	if holder == nil || ownedBy(holder, p.Kyma) {
		return nil
	}
	if holder.Spec.Version == e.version {
		// What it brought is to stay where it is when this one has it: anew elsewhere, it would have lost its data.
		e.sharedIn = cmp.Or(holder.Annotations[desired.AnnotationRemoteNamespace], p.Settings.SyncNamespace)
		return nil
	}
	refusal := warn(ReasonSharedVersion, "module %s is shared in the control plane with Kyma %s, which has it in version %s: version %s is refused",
		e.module.Name, desired.KymaOf(holder), holder.Spec.Version, e.version)
	refusal.Elsewhere = "the version of the shared module"
	return refusal
}
