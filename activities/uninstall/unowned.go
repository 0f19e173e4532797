package uninstall

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// IsUnowned reports whether no Kyma's workflow works on a Manifest, because no Kyma is its controller.
func IsUnowned(m *v1beta2.Manifest) bool {
	owner := metav1.GetControllerOf(m)
	return owner == nil || owner.Kind != shared.KindKyma
}

// SettleUnowned releases a Manifest that was abandoned by its Kyma and is being deleted by somebody else. It refuses
// every other Manifest without an owning Kyma; the status then says why. It reads only the control plane, never the
// module's cluster.
func (a *Activities) SettleUnowned(ctx context.Context, ref kick.Ref) error {
	m, err := a.steps.Read(ctx, ref)
	if err != nil || m == nil || !IsUnowned(m) {
		return err
	}
	ownership, err := a.steps.CheckOwnership(ctx, m)
	switch {
	case err != nil:
		return err
	case ownership.Orphaned && manifests.HasOwnFinalizer(m):
		a.steps.Recorder.Orphaned(m)
		return a.steps.RemoveFinalizers(ctx, m)
	case ownership.Refusal == nil:
		return nil
	}
	_, err = a.steps.Report(ctx, manifests.ReportInput{
		Ref: ref, Observed: *ownership.Refusal, InputsDigest: manifests.InputsDigest(m), Settled: true,
	}, true)
	return err
}
