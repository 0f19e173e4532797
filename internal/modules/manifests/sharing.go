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
// (docs/contract.md#namespaces-and-defaults). One of their Manifests, its holder, installs it as any other Manifest does.
// The others install nothing and show the state of the holder. A Manifest that is deleted while others remain hands over
// its objects instead of removing them. These carry the old ownership annotation until the new holder has applied
// them; the new holder may remove them also before that.

// Reasons of a Manifest whose module is shared.
const (
	// ReasonShared: another Manifest installs the module.
	ReasonShared = "SharedModule"
	// ReasonSharedVersion: another Manifest installs the module in another version.
	ReasonSharedVersion = "SharedModuleVersion"
)

// owners are all owners of the installation that a Manifest is for, itself included, as the informer knows them: at least
// as of this one's resource version, so that earlier ones are among them.
func (a *Steps) owners(ctx context.Context, m *v1beta2.Manifest) ([]v1beta2.Manifest, error) {
	return a.Options.Known.Sharing(ctx, m.Labels[desired.LabelSharedModule], m.ResourceVersion)
}

// holder is the one of them that installs it, read live; nil where there is none.
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

// InstalledByAnother is the state of a module that another Manifest installs; nil where this one does.
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

// tookOverNewer keeps a Manifest that took over a newer version than its own from lowering it.
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

// HandOver hands over what a Manifest under deletion installed in the control plane's own cluster to another owner. It
// tells whether there is one: then nothing is to be removed. It can be repeated.
func (a *Steps) HandOver(ctx context.Context, m *v1beta2.Manifest) (bool, error) {
	if !desired.InControlPlane(m) || m.Labels[desired.LabelSharedModule] == "" {
		return false, nil
	}
	// This Manifest is not among the owners, since it is under deletion.
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
	// After a conflict all of it is repeated: the other one may be under deletion by now.
	_, err = a.WriteStatus(ctx, next, func(s *v1beta2.ManifestStatus) { takeOver(s, m) })
	return err == nil, err
}

// takeOver adds what another Manifest installed to a status, and makes the next reconcile due.
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

// tookOverMeanwhile is the error of a release that would forget what was handed over since the Manifest was read.
func tookOverMeanwhile(before, now *v1beta2.Manifest) error {
	if len(before.Status.Inventory) > 0 || len(now.Status.Inventory) == 0 || now.Labels[desired.LabelSharedModule] == "" {
		return nil
	}
	return fault.New(fault.Transient, ReasonManifestChanged,
		"Manifest %s/%s took over a shared module while it was removed", now.Namespace, now.Name)
}
