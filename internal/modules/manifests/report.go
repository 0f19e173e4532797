package manifests

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// Report writes the observed state of the module, with its conditions, into the Manifest's status. It writes nothing
// if nothing changes. The result has news if state, message or version changed. If first is false, the result always
// has news, because an earlier attempt may have written the same status without its result being received.
func (a *Steps) Report(ctx context.Context, in ReportInput, first bool) (result ReportResult, err error) {
	ctx, news := Noting(ctx)
	defer func() { result.News = *news }()
	m, err := a.Read(ctx, in.Ref)
	if err != nil {
		return ReportResult{}, err
	}
	if m == nil {
		return ReportResult{Outcome: OutcomeGone}, nil
	}
	result = ReportResult{Outcome: OutcomeApplied}
	observed := in.Observed
	if !m.DeletionTimestamp.IsZero() {
		result.Outcome = OutcomeDeleting
		if observed.State != shared.StateWarning && observed.State != shared.StateError {
			// A Manifest under deletion is Deleting, or it says why it cannot be deleted.
			observed.State = shared.StateDeleting
		}
	}
	before := m.Status.DeepCopy()
	result.Changed, err = a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		SetObserved(m, s, observed, a.Now())
		s.Settled = in.Settled
		// A digest of outdated inputs is not recorded. The next reconcile is for the present inputs.
		if in.InputsDigest != "" && in.InputsDigest == InputsDigest(m) {
			s.InputsDigest, s.ObservedGeneration = in.InputsDigest, m.Generation
		}
	})
	if err != nil {
		return ReportResult{}, err
	}
	// An earlier attempt may have written the status, and its result may have been lost.
	if IsNews(before, &m.Status) || !first {
		Changed(ctx, m)
	}
	return result, nil
}

// IsNews reports whether two statuses differ in something that the Kyma's status shows.
func IsNews(before, after *v1beta2.ManifestStatus) bool {
	return before.State != after.State || before.InstalledVersion != after.InstalledVersion || operation(before) != operation(after)
}

// operation returns the last operation and its hint, without the time.
func operation(s *v1beta2.ManifestStatus) v1beta2.LastOperation {
	if s.LastOperation == nil {
		return v1beta2.LastOperation{}
	}
	return v1beta2.LastOperation{Operation: s.LastOperation.Operation, Hint: s.LastOperation.Hint}
}

// SetObserved writes the observed state of the module into a status: state, last operation, counts and conditions. It
// bounds the texts like the message of a fault, whoever wrote them.
func SetObserved(m *v1beta2.Manifest, s *v1beta2.ManifestStatus, o readiness.Observed, now metav1.Time) {
	o.Message, o.Hint = fault.Message(o.Message), fault.Message(o.Hint)
	if o.Unreachable && s.LastKnownState != "" {
		return // there is no news about the module
	}
	s.State, s.LastKnownState = o.State, ""
	if o.Message != "" {
		s.LastOperation = v1beta2.NextLastOperation(s.LastOperation, o.Message, now).WithHint(hint.Or(o.Hint, o.Reason))
		if o.State == shared.StateError {
			s.LastOperation = s.LastOperation.WithReason(o.Reason)
		}
	}
	if o.Total > 0 {
		counts := v1beta2.ObjectCounts{Total: o.Total, Ready: o.Ready}
		if s.Counts != nil && !readiness.ResourcesReady(o.Reason) {
			counts.Failed = s.Counts.Failed
		}
		s.Counts = &counts
	}
	if s.DefaultCR != nil && s.DefaultCR.UID != "" && readiness.ResourcesReady(o.Reason) {
		s.DefaultCR.State = o.State
	}
	setConditions(m, s, o, now)
}

// isRefused reports whether CheckOwnership or Undecided gave this reason for doing nothing.
func isRefused(reason string) bool {
	switch reason {
	case ReasonNotOwned, ReasonNotDecided, ReasonEdited, ReasonNotPlanned, ReasonNotSigned:
		return true
	}
	return false
}

// IsRefused reports whether the last reconcile did nothing because nothing may be done for the Manifest. The Manifest
// may come from a cache that leaves out large fields.
func IsRefused(m *v1beta2.Manifest) bool {
	installation := meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionInstallation))
	return installation != nil && isRefused(installation.Reason)
}

// setConditions sets the three conditions of a Manifest (docs/contract.md#conditions).
func setConditions(m *v1beta2.Manifest, s *v1beta2.ManifestStatus, o readiness.Observed, now metav1.Time) {
	if isRefused(o.Reason) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: string(shared.ConditionInstallation), Status: metav1.ConditionFalse, Reason: o.Reason, Message: o.Message,
			ObservedGeneration: m.Generation, LastTransitionTime: now,
		})
		return
	}
	ready := readiness.ResourcesReady(o.Reason)
	active := o.State == shared.StateReady || o.State == shared.StateWarning
	if active && !ready || o.State == shared.StateUnmanaged || o.State == shared.StateUnknown {
		// Nothing was read (no access, or skipped), so the conditions stay.
		return
	}
	set := func(kind shared.ConditionType, reason string, isTrue bool, whenTrue, whenFalse string) {
		c := metav1.Condition{
			Type: string(kind), Status: metav1.ConditionFalse, Reason: reason, Message: whenFalse,
			ObservedGeneration: m.Generation, LastTransitionTime: now,
		}
		switch {
		case isTrue:
			c.Status, c.Message = metav1.ConditionTrue, whenTrue
		case kind == shared.ConditionInstallation && o.Hint != "":
			c.Message += ": " + o.Hint
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	set(shared.ConditionResources, shared.ReasonResourcesAvailable, ready,
		"the module's resources are available", "not all of the module's resources are available")
	set(shared.ConditionInstallation, shared.ReasonReady, ready && active,
		"the module is installed and ready", "the module is not installed, or not ready")
	if wanted, err := readiness.DefaultCROf(m); err != nil || wanted == nil {
		meta.RemoveStatusCondition(&s.Conditions, string(shared.ConditionModuleCR))
		return
	}
	set(shared.ConditionModuleCR, shared.ReasonModuleCRCreated, s.DefaultCR != nil && s.DefaultCR.UID != "",
		"the module's default custom resource was created", "the module's default custom resource has not been created yet")
}
