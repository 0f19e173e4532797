package manifests

import (
	"context"
	"fmt"

	semver "github.com/Masterminds/semver/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Several Kymas with the same module for the control plane's own cluster have one installation
// (docs/contract.md#namespaces-and-defaults). One of their Manifests, the holder, installs the module like any other
// Manifest. The others install nothing and show the state of the holder. If the deleted Manifest is not the last one,
// it hands over its objects instead of removing them. The objects carry the old ownership annotation until the new
// holder has applied them. The new holder may remove them even before that.

// Reasons of a Manifest with a shared module.
const (
	// ReasonShared means that another Manifest installs the module.
	ReasonShared = "SharedModule"
	// ReasonSharedVersion means that another Manifest installs another version of the module.
	ReasonSharedVersion = "SharedModuleVersion"
)

// owners returns all owners of the installation that a Manifest is for, including itself, from the informer. The
// informer is at least as new as m's resource version, so it has all earlier owners.
func (a *Steps) owners(ctx context.Context, m *v1beta2.Manifest) ([]v1beta2.Manifest, error) {
	return a.Options.Known.Sharing(ctx, m.Labels[desired.LabelSharedModule], m.ResourceVersion)
}

// holder returns the owner that installs the module, read live; nil if there is none.
func (a *Steps) holder(ctx context.Context, m *v1beta2.Manifest) (*v1beta2.Manifest, error) {
	owners, err := a.owners(ctx, m)
	if err != nil {
		return nil, err
	}
	holder := desired.Holder(owners)
	if holder == nil || holder.UID == m.UID || a.Options.Known.IsLive() {
		return holder, nil
	}
	now, err := a.Options.Known.Manifest(ctx, client.ObjectKeyFromObject(holder))
	if err != nil {
		return nil, err
	}
	if now == nil || now.UID != holder.UID || !desired.IsShared(now) {
		return nil, fault.New(fault.Transient, ReasonManifestChanged,
			"Manifest %s/%s, which installs the shared module, has just changed", holder.Namespace, holder.Name)
	}
	return now, nil
}

// InstalledByAnother returns the state of a module that another Manifest installs; nil if this Manifest installs it.
func (a *Steps) InstalledByAnother(ctx context.Context, m *v1beta2.Manifest) (*readiness.Observed, error) {
	if !desired.IsShared(m) {
		return nil, nil //nolint:nilnil // not being shared is the ordinary case
	}
	holder, err := a.holder(ctx, m)
	if err != nil {
		return nil, err
	}
	switch {
	case holder == nil || holder.UID == m.UID:
		return tookOverNewer(m), nil
	case holder.Spec.Version != m.Spec.Version:
		return &readiness.Observed{State: shared.StateWarning, Reason: ReasonSharedVersion, Message: fmt.Sprintf(
			"the module is shared in the control plane with Kyma %s, which has it in version %s: version %s is refused",
			desired.KymaOf(holder), holder.Spec.Version, m.Spec.Version)}, nil
	}
	o := &readiness.Observed{State: holder.Status.State, Reason: ReasonShared,
		Message: fmt.Sprintf("the module is shared in the control plane with Kyma %s", desired.KymaOf(holder))}
	if !o.State.IsKnown() || o.State == shared.StateUnknown {
		o.State = shared.StateProcessing
	}
	if operation := operation(&holder.Status).Operation; operation != "" && o.State != shared.StateReady {
		o.Message += ": " + operation
	}
	return o, nil
}

// tookOverNewer keeps a Manifest that took over a newer version than its own from downgrading it.
func tookOverNewer(m *v1beta2.Manifest) *readiness.Observed {
	if len(m.Status.TakenOverFrom) == 0 {
		return nil
	}
	installed, err := semver.NewVersion(m.Status.InstalledVersion)
	if err != nil {
		return nil
	}
	wanted, err := semver.NewVersion(m.Spec.Version)
	if err != nil || !wanted.LessThan(installed) {
		return nil
	}
	return &readiness.Observed{State: shared.StateWarning, Reason: ReasonSharedVersion, Message: fmt.Sprintf(
		"the module was shared in the control plane and is installed in version %s: version %s is lower", installed, wanted)}
}

// HandOver hands over what a Manifest under deletion installed in the control plane's own cluster to another owner.
// It reports whether there is another owner; if so, nothing has to be removed. HandOver is idempotent.
func (a *Steps) HandOver(ctx context.Context, m *v1beta2.Manifest) (bool, error) {
	if !desired.InControlPlane(m) || m.Labels[desired.LabelSharedModule] == "" {
		return false, nil
	}
	// This Manifest is not among the owners, because it is under deletion.
	next, err := a.holder(ctx, m)
	if err != nil {
		return false, err
	}
	if next == nil || next.UID == m.UID {
		return false, nil
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		return true, nil
	}
	// After a conflict everything is repeated, because the other Manifest may be under deletion by now.
	_, err = a.WriteStatus(ctx, next, func(s *v1beta2.ManifestStatus) { takeOver(s, m) })
	return err == nil, err
}

// takeOver adds the objects of another Manifest to a status, and makes the next reconcile due.
func takeOver(s *v1beta2.ManifestStatus, from *v1beta2.Manifest) {
	byID := map[string]v1beta2.InventoryEntry{}
	for _, inventory := range [][]v1beta2.InventoryEntry{from.Status.Inventory, s.Inventory} {
		for _, e := range inventory {
			byID[e.ID] = e
		}
	}
	inventory.SetInventory(s, inventory.Sorted(byID))
	known := lists.Set(s.TakenOverFrom, func(mark string) string { return mark })
	for _, mark := range append([]string{inventory.OwnerOf(from).Mark}, from.Status.TakenOverFrom...) {
		if !known[mark] {
			s.TakenOverFrom = append(s.TakenOverFrom, mark)
		}
	}
	if s.DefaultCR == nil {
		s.DefaultCR = from.Status.DefaultCR.DeepCopy()
	}
	if s.InstalledRef == "" {
		s.InstalledRef, s.InstalledVersion = from.Status.InstalledRef, from.Status.InstalledVersion
	}
	s.InputsDigest, s.Settled = "", false
}

// tookOverMeanwhile returns an error if the release of a Manifest would forget objects that were handed over to it
// since it was read.
func tookOverMeanwhile(before, now *v1beta2.Manifest) error {
	if len(before.Status.Inventory) > 0 || len(now.Status.Inventory) == 0 || now.Labels[desired.LabelSharedModule] == "" {
		return nil
	}
	return fault.New(fault.Transient, ReasonManifestChanged,
		"Manifest %s/%s took over a shared module while it was removed", now.Namespace, now.Name)
}
