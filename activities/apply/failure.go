package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ApplyPatch is server-side apply. JSON is YAML, so the encoded bodies are valid.
const ApplyPatch = types.ApplyPatchType

// failureOf classifies why one object could not be applied. A kind that the module itself defines may not be served
// yet, and its conversion webhook may not be up yet.
func failureOf(p bundle.Placed, k kinds.Mapper, err error) bundle.Failure {
	f := bundle.Failure{Object: p.String(), Message: Refusal(err)}
	d, own := k.Own[p.Object.GVK.GroupKind()]
	switch {
	case isMismatch(err):
		f.Retryable = own && d.Converted
	case unserved(err) && own:
		f.Retryable = true
	case unserved(err):
		f.Missing = p.Object.GVK.String()
	case NamespaceMissing(err):
		f.Message = fmt.Sprintf("namespace %s does not exist", p.Name.Namespace)
		f.Retryable = true
	default:
		kind := fault.Of(clusters.Classify(err))
		// A role that a binding refers to may come in this very stage; the API server then answers not found.
		f.Retryable = kind.Kind == fault.Transient && kind.Reason != "Error" || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, "NamespaceTerminating")
	}
	return f
}

// missingRight finds the right in the API server's answer to a user who has it not, without the user's name, which can be
// so long that the rest would be cut.
var missingRight = regexp.MustCompile(`is forbidden: User "[^"]*" (cannot \w+ resource "[^"]*" in API group "[^"]*".*)$`)

// Refusal is the message of the API server, without the object that it may quote: the values of fields can be secret,
// their paths are not.
func Refusal(err error) string {
	if isMismatch(err) {
		return objects.Shorten(describeMismatch(err))
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return objects.Shorten(err.Error())
	}
	if missing := missingRight.FindStringSubmatch(err.Error()); apierrors.IsForbidden(err) && missing != nil {
		return objects.Shorten("forbidden: " + missing[1])
	}
	details := status.Status().Details
	if status.Status().Reason != metav1.StatusReasonInvalid || details == nil || len(details.Causes) == 0 {
		return objects.Shorten(err.Error())
	}
	var fields []string
	for _, cause := range details.Causes {
		if cause.Field == "" {
			// An admission policy gives its reason as free text, and names no field.
			fields = append(fields, cause.Message)
			continue
		}
		fields = append(fields, strings.TrimSpace(cause.Field+" "+causeText(cause.Type)))
	}
	slices.Sort(fields)
	return objects.Shorten("invalid: " + strings.Join(slices.Compact(fields), ", "))
}

// ByAdmission tells whether an object was found invalid by admission control. The schema of a kind names the fields
// instead.
func ByAdmission(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0 || slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "" })
}

func causeText(cause metav1.CauseType) string {
	switch cause {
	case metav1.CauseTypeFieldValueRequired:
		return "is required"
	case metav1.CauseTypeFieldValueNotFound:
		return "refers to what does not exist"
	case metav1.CauseTypeFieldValueDuplicate:
		return "is given twice"
	case metav1.CauseTypeFieldValueNotSupported:
		return "is not supported"
	case metav1.CauseTypeForbidden:
		return "must not be set or changed"
	default:
		return "is invalid or cannot be changed"
	}
}

// unserved distinguishes a kind that the server does not know from an object that does not exist.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}

// NamespaceMissing tells whether an object could not be created because its namespace does not exist.
func NamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "namespaces"
}

// worst is the state that follows from all failures. A kind that is missing for too long is an error, and so is a
// retryable failure that lasts as long; both are tried again nevertheless.
func (o *Outcomes) worst(long bool) (shared.State, string) {
	missing := false
	for _, f := range o.Failures {
		if f.Missing == "" && !f.Retryable {
			return shared.StateError, readiness.ReasonApplyFailed
		}
		missing = missing || f.Missing != ""
	}
	state := shared.StateProcessing
	if long {
		state = shared.StateError
	}
	if missing && long {
		return state, readiness.ReasonMissingAPI
	}
	for _, f := range o.Failures {
		if f.Retryable {
			return state, readiness.ReasonApplyRetried
		}
	}
	return state, readiness.ReasonMissingAPI
}

// observedHook is the state of a module whose hook failed, or is not done yet.
func observedHook(f bundle.Failure, observed readiness.Observed) readiness.Observed {
	if f.Retryable {
		observed.State, observed.Reason, observed.Message = shared.StateProcessing, readiness.ReasonHookPending, "waiting for "+f.Object
		return observed
	}
	observed.State, observed.Reason, observed.Message = shared.StateError, readiness.ReasonHookFailed, f.String()
	return observed
}

// Judge returns the result of the reconcile. What the cluster refused is an error of the module; what may work the next
// time, and a kind that may still appear, keep it in processing.
func (o *Outcomes) Judge(job *Installation, now time.Time, patience time.Duration) (manifests.Outcome, readiness.Observed) {
	observed := job.Begins
	observed.Total = int32(job.Plan.Objects()) //nolint:gosec // bounded by the inventory
	if o.Complete() {
		return manifests.OutcomeApplied, observed
	}
	if o.postponed && len(o.Failures) == 0 {
		observed.State, observed.Reason = shared.StateProcessing, readiness.ReasonApplyContinues
		observed.Message = fmt.Sprintf("%d of %d objects are applied, the next reconcile continues", len(o.Entries), job.Plan.Objects())
		return manifests.OutcomeIncomplete, observed
	}
	all := make([]string, 0, len(o.Failures))
	for _, f := range o.Failures {
		all = append(all, f.String())
	}
	observed.State, observed.Reason = o.worst(now.Sub(readiness.PendingSince(job.Manifest)) >= patience)
	if last := o.Failures[len(o.Failures)-1]; last.Hook && len(all) == 1 {
		// The failure is not one of the chart's objects.
		return manifests.OutcomeIncomplete, observedHook(last, observed)
	}
	observed.Message = fmt.Sprintf("%d of %d objects could not be applied: %s", len(o.Failures), job.Plan.Objects(), objects.FirstOf(all))
	return manifests.OutcomeIncomplete, observed
}

// Ready counts the applied objects that are ready, where not all could be applied: then no wait counts them.
func (o *Outcomes) Ready(ctx context.Context, job *Installation) (int32, error) {
	observer := readiness.NewObserver(job.Target)
	if err := observer.Resources(ctx, slices.Collect(maps.Values(o.Entries))); err != nil {
		return 0, err
	}
	return observer.Ready(), nil
}
