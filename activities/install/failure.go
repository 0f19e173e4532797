package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// hook is true when it is about how a chart's hook runs, and not about applying something.
	hook bool
}

func (f failure) String() string {
	if f.missing != "" {
		return f.object + ": the cluster does not know " + f.missing
	}
	return f.object + ": " + f.message
}

// failureOf understands why one object could not be applied.
// A kind that the module itself defines is one that is not served yet, and what converts it may not be up yet.
func failureOf(p placed, k kinds, err error) failure {
	f := failure{object: p.String(), message: refusal(err)}
	d, own := k.own[p.object.gvk.GroupKind()]
	switch {
	case unfit(err):
		f.passing = own && d.converted
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
	if unfit(err) {
		return short(misfit(err))
	}
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
		if cause.Field == "" {
			// An admission policy says why in its author's words, and names no field.
			fields = append(fields, cause.Message)
			continue
		}
		fields = append(fields, strings.TrimSpace(cause.Field+" "+causeText(cause.Type)))
	}
	slices.Sort(fields)
	return short("invalid: " + strings.Join(slices.Compact(fields), ", "))
}

// byAdmission tells whether an object is invalid because something says so that was asked to admit it. The schema of
// a kind says so field by field.
func byAdmission(err error) bool {
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

// worst is what the failures come to. A kind that was waited for long enough is an error, and so is what should
// have passed by then; both are tried again all the same.
func (o *outcomes) worst(long bool) (shared.State, string) {
	missing := false
	for _, f := range o.failures {
		if f.missing == "" && !f.passing {
			return shared.StateError, ReasonApplyFailed
		}
		missing = missing || f.missing != ""
	}
	state := shared.StateProcessing
	if long {
		state = shared.StateError
	}
	if missing && long {
		return state, ReasonMissingAPI
	}
	for _, f := range o.failures {
		if f.passing {
			return state, ReasonApplyRetried
		}
	}
	return state, ReasonMissingAPI
}

// ofHook is what is said of a module whose hook failed, or is not done yet.
func ofHook(f failure, observed Observed) Observed {
	if f.passing {
		observed.State, observed.Reason, observed.Message = shared.StateProcessing, ReasonHookPending, "waiting for "+f.object
		return observed
	}
	observed.State, observed.Reason, observed.Message = shared.StateError, ReasonHookFailed, f.String()
	return observed
}

// judge says what came of the pass. What the cluster refused is an error of the module; what may work the
// next time, and a kind that may still appear, keep it at work.
func (o *outcomes) judge(job *installation, now time.Time, patience time.Duration) (Outcome, Observed) {
	observed := job.begins
	observed.Total = int32(job.plan.objects()) //nolint:gosec // bounded by the inventory
	if o.complete() {
		return OutcomeApplied, observed
	}
	if o.postponed && len(o.failures) == 0 {
		observed.State, observed.Reason = shared.StateProcessing, ReasonApplyGoesOn
		observed.Message = fmt.Sprintf("%d of %d objects are applied, the next look goes on", len(o.entries), job.plan.objects())
		return OutcomeIncomplete, observed
	}
	all := make([]string, 0, len(o.failures))
	for _, f := range o.failures {
		all = append(all, f.String())
	}
	observed.State, observed.Reason = o.worst(now.Sub(pendingSince(job.manifest)) >= patience)
	if last := o.failures[len(o.failures)-1]; last.hook && len(all) == 1 {
		// The chart's objects are not what there is something wrong with.
		return OutcomeIncomplete, ofHook(last, observed)
	}
	observed.Message = fmt.Sprintf("%d of %d objects could not be applied: %s", len(o.failures), job.plan.objects(), some(all))
	return OutcomeIncomplete, observed
}

// ready counts those of the applied objects that are ready, where not all could be applied: nobody waits for them then.
func (o *outcomes) ready(ctx context.Context, job *installation) (int32, error) {
	look := observer{cluster: job.cluster, kinds: job.kinds, owner: job.owner, seen: map[string]*unstructured.Unstructured{}}
	if err := look.resources(ctx, slices.Collect(maps.Values(o.entries))); err != nil {
		return 0, err
	}
	return look.ready(), nil
}
