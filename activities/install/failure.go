package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// applyPatch is server-side apply. JSON is YAML, so the encoded bodies fit.
const applyPatch = types.ApplyPatchType

// failure is an object that could not be applied.
type failure struct {
	// object is "Kind namespace/name".
	object  string
	message string
	// passing is true when it may work the next time.
	passing bool
	// missing is the kind that the cluster does not know, if that is why.
	missing string
}

func (f failure) String() string {
	if f.missing != "" {
		return f.object + ": the cluster does not know " + f.missing
	}
	return f.object + ": " + f.message
}

// failureOf understands why one object could not be applied.
// A kind that the module itself defines is one that is not served yet.
func failureOf(p placed, k kinds, err error) failure {
	f := failure{object: p.String(), message: refusal(err)}
	_, own := k.own[p.object.gvk.GroupKind()]
	switch {
	case unserved(err) && own:
		f.passing = true
	case unserved(err):
		f.missing = p.object.gvk.String()
	case namespaceMissing(err):
		f.message = fmt.Sprintf("namespace %s does not exist", p.name.Namespace)
		f.passing = true
	default:
		kind := fault.Of(clusters.Classify(err))
		// A role that a binding refers to may come in this very stage; the API server then says not found.
		f.passing = kind.Kind == fault.Transient && kind.Reason != "Error" || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, "NamespaceTerminating")
	}
	return f
}

// refusal is what the API server says, without the object that it may quote: the values of fields can be
// secret, their paths are not.
func refusal(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return short(err.Error())
	}
	details := status.Status().Details
	if status.Status().Reason != metav1.StatusReasonInvalid || details == nil || len(details.Causes) == 0 {
		return short(err.Error())
	}
	var fields []string
	for _, cause := range details.Causes {
		fields = append(fields, strings.TrimSpace(cause.Field+" "+causeText(cause.Type)))
	}
	slices.Sort(fields)
	return short("invalid: " + strings.Join(slices.Compact(fields), ", "))
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

// unserved tells whether the server does not know the kind at all, from an object that is not there.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}

// namespaceMissing tells whether an object could not be made because its namespace does not exist.
func namespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "namespaces"
}

// judge says what came of the pass. What the cluster refused is an error of the module; what may work the
// next time, and a kind that may still appear, keep it at work.
func (o *outcomes) judge(job *installation) (Outcome, Observed) {
	observed := job.begins
	observed.Total = int32(job.plan.objects()) //nolint:gosec // bounded by the inventory
	if o.complete() {
		return OutcomeApplied, observed
	}
	observed.Reason = ReasonMissingAPI
	all := make([]string, 0, len(o.failures))
	for _, f := range o.failures {
		all = append(all, f.String())
		switch {
		case f.missing != "":
		case f.passing:
			if observed.State != shared.StateError {
				observed.Reason = ReasonApplyRetried
			}
		default:
			observed.State, observed.Reason = shared.StateError, ReasonApplyFailed
		}
	}
	observed.Message = fmt.Sprintf("%d of %d objects could not be applied: %s", len(o.failures), job.plan.objects(), some(all))
	return OutcomeIncomplete, observed
}
