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

// Report writes the observed state of the module into the Manifest's status, with its conditions. It has news if state, message
// or version changed, and writes nothing if nothing changes. If first is false, an earlier attempt may have written what this
// one would write, so that the result always has news.
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
			// A Manifest under deletion is Deleting, or says why it cannot be deleted.
			observed.State = shared.StateDeleting
		}
	}
	before := m.Status.DeepCopy()
	result.Changed, err = a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		SetObserved(m, s, observed, a.Now())
		s.Settled = in.Settled
		// A digest of outdated inputs is not recorded: the next reconcile is for the present ones.
		if in.InputsDigest != "" && in.InputsDigest == InputsDigest(m) {
			s.InputsDigest, s.ObservedGeneration = in.InputsDigest, m.Generation
		}
	})
	if err != nil {
		return ReportResult{}, err
	}
	// The result of an earlier attempt that has written may be lost.
	if IsNews(before, &m.Status) || !first {
		Changed(ctx, m)
	}
	return result, nil
}

// IsNews tells whether a status differs in what the Kyma's status shows.
func IsNews(before, after *v1beta2.ManifestStatus) bool {
	return before.State != after.State || before.InstalledVersion != after.InstalledVersion || operation(before) != operation(after)
}

// operation is the last operation and its hint, without the time.
func operation(s *v1beta2.ManifestStatus) v1beta2.LastOperation {
	if s.LastOperation == nil {
		return v1beta2.LastOperation{}
	}
	return v1beta2.LastOperation{Operation: s.LastOperation.Operation, Hint: s.LastOperation.Hint}
}

// SetObserved writes the observed state of the module into a status: state, last operation, counts, conditions. Its texts
// are bounded like the message of a fault, whoever wrote them.
func SetObserved(m *v1beta2.Manifest, s *v1beta2.ManifestStatus, o readiness.Observed, now metav1.Time) {
	o.Message, o.Hint = fault.Message(o.Message), fault.Message(o.Hint)
	if o.Unreachable && s.LastKnownState != "" {
		return // there is no news of the module
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

// isRefused tells whether nothing is done for a Manifest, for one of the reasons of CheckOwnership and Undecided.
func isRefused(reason string) bool {
	switch reason {
	case ReasonNotOwned, ReasonNotDecided, ReasonEdited, ReasonNotPlanned, ReasonNotSigned:
		return true
	}
	return false
}

// IsRefused tells whether the last reconcile of a Manifest did nothing, as nothing may be done for it. The Manifest may
// come from a cache that leaves out what is large.
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
		// Nothing was read (no access, skipped): the conditions stay as they are.
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
		"the module's resources are available", "the module's resources are not all available")
	set(shared.ConditionInstallation, shared.ReasonReady, ready && active,
		"the module is installed and ready", "the module is not installed and ready")
	if wanted, err := readiness.DefaultCROf(m); err != nil || wanted == nil {
		meta.RemoveStatusCondition(&s.Conditions, string(shared.ConditionModuleCR))
		return
	}
	set(shared.ConditionModuleCR, shared.ReasonModuleCRCreated, s.DefaultCR != nil && s.DefaultCR.UID != "",
		"the module's default custom resource was created", "the module's default custom resource was not created yet")
}
