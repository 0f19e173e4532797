package manifests

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const (
	// decisionPatience is how long a reconcile waits for the Kyma's record and the Manifest to agree. A plan writes one
	// after the other.
	decisionPatience = 3 * time.Second
	// decisionPause is the pause between two reads of both.
	decisionPause = 200 * time.Millisecond
)

// IsPlanned reports whether the Manifest may be installed in its present form. It reads the Kyma's record from the
// cache first, and live if the cached record does not allow the Manifest.
func (a *Steps) IsPlanned(ctx context.Context, m *v1beta2.Manifest) (bool, error) {
	ownership, err := a.CheckOwnership(ctx, m)
	if err != nil || ownership.Kyma == nil || ownership.Refusal != nil {
		return false, err
	}
	kyma, err := a.recorded(ctx, m, ownership.Kyma)
	return err == nil && kyma != nil && a.mayInstall(kyma, m), err
}

// mayInstall reports whether the plan, the target and the signature of a Manifest permit its installation.
func (a *Steps) mayInstall(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	return planned.Allows(kyma, m) && desired.IsDecided(m) && a.isSigned(kyma, m)
}

// isSigned reports whether the plan accepted the module as signed, or this instance does not require signatures.
func (a *Steps) isSigned(kyma *v1beta2.Kyma, m *v1beta2.Manifest) bool {
	entry := planned.Of(kyma, m.Name)
	return !a.Options.SignaturesRequired || entry != nil && entry.Signed
}

// recorded returns the Kyma with its present record of plans. It returns the given Kyma if that already allows the
// Manifest, and nil if the Kyma no longer exists.
func (a *Steps) recorded(ctx context.Context, m *v1beta2.Manifest, kyma *v1beta2.Kyma) (*v1beta2.Kyma, error) {
	if a.mayInstall(kyma, m) {
		return kyma, nil
	}
	owner := KymaRefOf(m)
	now := &v1beta2.Kyma{}
	err := a.Options.ControlPlane.Get(ctx, owner.Key(), now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != owner.UID {
		return nil, nil //nolint:nilnil // a deleted Kyma is an ordinary case
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan of Kyma %s: %w", owner, err)
	}
	return now, nil
}

// Undecided returns why a Manifest may not be installed in its present form; nil if it may. If it may not, the
// activity's news ask the Kyma's workflow for a reconcile, which decides. Undecided also returns the Manifest, which
// it may have read again.
func (a *Steps) Undecided(
	ctx context.Context, m *v1beta2.Manifest, kyma *v1beta2.Kyma,
) (*v1beta2.Manifest, *readiness.Observed, error) {
	for waited := time.Duration(0); ; waited += decisionPause {
		now, err := a.recorded(ctx, m, kyma)
		switch {
		case err != nil:
			return nil, nil, err
		case now == nil:
			return nil, nil, ErrChanged
		case a.mayInstall(now, m):
			return m, nil, nil
		}
		kyma = now
		if planned.IsUnknown(kyma, m) || desired.IsEdited(m) || waited >= decisionPatience {
			break
		}
		if err := objects.Sleep(ctx, decisionPause); err != nil {
			return nil, nil, err
		}
		read, err := a.Read(ctx, kick.RefOf(m))
		if err != nil {
			return nil, nil, err
		}
		if read == nil || read.Generation != m.Generation || !read.DeletionTimestamp.IsZero() {
			return nil, nil, ErrChanged
		}
		m = read
	}
	notPlanned(ctx, m)
	return m, a.refusal(m, kyma), nil
}

// refusal returns why a Manifest is not installed although its Kyma is ours. If the Manifest is in no plan, the Kyma
// gets an Event, because nothing else on the Kyma shows the attempt.
func (a *Steps) refusal(m *v1beta2.Manifest, kyma *v1beta2.Kyma) *readiness.Observed {
	o := &readiness.Observed{State: m.Status.State, Reason: ReasonNotPlanned}
	if o.State == shared.StateUnknown {
		o.State = shared.StateProcessing
	}
	switch {
	case planned.IsUnknown(kyma, m):
		o.State = shared.StateError
		o.Message = "no plan of Kyma " + kyma.Name + " contains this Manifest: nothing is fetched, installed or changed"
		a.Recorder.Unplanned(m)
	case IsUpstreams(m), !m.Spec.Remote && !desired.InControlPlane(m) && inventory.NeverApplied(m.Status.Inventory):
		o.Reason, o.Message = ReasonAwaitsPlan, "upstream installed the module: it is taken over with the next plan of Kyma "+kyma.Name
	case desired.IsEdited(m):
		o.Reason, o.Message = ReasonEdited, "the Manifest's spec was edited by hand: the edit is not installed and will be reverted"
	case !planned.Allows(kyma, m):
		o.Message = "the Manifest differs from the plan of Kyma " + kyma.Name + ": nothing is installed or changed"
	case !a.isSigned(kyma, m):
		o.Reason, o.State = ReasonNotSigned, shared.StateError
		o.Message = "signatures are required now, but the component descriptor of the module was accepted without a signature: nothing is installed or changed"
	default:
		o.Reason, o.Message = ReasonNotDecided, "the plan of Kyma "+kyma.Name+" does not place this module in the control plane: nothing is installed or changed"
	}
	return o
}

// EventNotPlanned means that somebody else created a Manifest for the Kyma that is in no plan.
const EventNotPlanned = "ManifestNotPlanned"

// UnplannedMessage returns the message that somebody else created a Manifest.
func UnplannedMessage(m *v1beta2.Manifest) string {
	return fmt.Sprintf("Manifest %s was not made by a plan of this Kyma: it is removed, and nothing of it is installed", m.Name)
}

// Unplanned records the refusal of a Manifest that somebody else created.
func (r *Recorder) Unplanned(m *v1beta2.Manifest) {
	if r.RecordedLately(string(m.UID) + EventNotPlanned) {
		return
	}
	if r.refused != nil {
		r.refused.ManifestRefused()
	}
	r.Record(KymaOf(m), corev1.EventTypeWarning, EventNotPlanned, UnplannedMessage(m))
}
