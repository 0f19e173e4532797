package uninstall

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// EventRemovalUpgradeFailed: the removal of a module waits for its operator, and the operator's newer version could not
// be applied.
const EventRemovalUpgradeFailed = "RemovalUpgradeFailed"

// upgradeWhileDeleting applies the newer version that a Manifest asks for while only the default custom resource blocks
// its removal. The operator that must release the custom resource may need a fix from the newer version
// (docs/contract.md#removal). The reported state of the removal does not change. A version that cannot be applied does
// not block the removal.
func (a *Activities) upgradeWhileDeleting(ctx context.Context, m *v1beta2.Manifest, waiting readiness.Observed) error {
	if m.Status.InstalledRef == "" || m.Status.InstalledRef == inventory.LayersRef(m) {
		return nil
	}
	if isPlanned, err := a.steps.IsPlanned(ctx, m); err != nil || !isPlanned {
		return err
	}
	job, err := a.applier.Prepare(ctx, m)
	if f := fault.Of(err); err != nil && f.Kind == fault.Rejected {
		message := "version " + m.Spec.Version + " could not be applied during the module's removal: " + f.Message
		a.steps.Recorder.RecordOnce(m, corev1.EventTypeWarning, EventRemovalUpgradeFailed, message, m)
		return nil
	}
	if err != nil {
		return err
	}
	job.Begins, job.Until = waiting, time.Now().Add(a.install.Options.ApplyLimit/2)
	result, err := a.install.CarryOut(ctx, job, install.ApplyResult{InputsDigest: manifests.InputsDigest(m)})
	if err != nil {
		return err
	}
	if result.Outcome == manifests.OutcomeIncomplete {
		return fault.New(fault.Transient, result.Observed.Reason, "%s", result.Observed.Message)
	}
	return nil
}
