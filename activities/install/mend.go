package install

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// EventNotMended: a newer version of a module whose removal waits for its operator could not be applied.
const EventNotMended = "NotMended"

// mend applies the newer version that a Manifest asks for while nothing but its default custom resource keeps it from
// being removed: the operator that is to let go of it may need mending (contract, section 6). What is said of the removal
// stays the same. One that cannot be applied without a change keeps no removal from going on.
func (a *Activities) mend(ctx context.Context, m *v1beta2.Manifest, waiting Observed) error {
	if m.Status.InstalledRef == "" || m.Status.InstalledRef == layersRef(m) || !desired.IsDecided(m) || desired.IsEdited(m) {
		return nil
	}
	job, err := a.prepare(ctx, m)
	if f := fault.Of(err); err != nil && f.Kind == fault.Rejected {
		message := "version " + m.Spec.Version + " could not be applied while the module is removed: " + f.Message
		if !a.teller.toldLately(string(m.UID) + message) {
			a.teller.tell(m, corev1.EventTypeWarning, EventNotMended, message)
		}
		return nil
	}
	if err != nil {
		return err
	}
	job.begins, job.until = waiting, time.Now().Add(a.options.ApplyLimit/2)
	result, err := a.carryOut(ctx, job, ApplyResult{InputsDigest: InputsDigest(m)})
	if err != nil {
		return err
	}
	if result.Outcome == OutcomeIncomplete {
		return fault.New(fault.Transient, result.Observed.Reason, "%s", result.Observed.Message)
	}
	return nil
}
