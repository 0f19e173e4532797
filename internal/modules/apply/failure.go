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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// ApplyPatch is the patch type of server-side apply. JSON is valid YAML, so the encoded bodies are accepted.
const ApplyPatch = types.ApplyPatchType

// failureOf classifies why one object could not be applied. It treats as retryable that a kind defined by the module
// itself is not served yet, or that its conversion webhook is not up yet.
func failureOf(p bundle.Placed, k kinds.Mapper, err error) bundle.Failure {
	f := bundle.Failure{Object: p.String(), Message: Refusal(err), Reason: reasonOf(err)}
	d, own := k.Own[p.Object.GVK.GroupKind()]
	switch {
	case isMismatch(err):
		f.Retryable = own && d.Converted
	case kinds.IsUnserved(err) && own:
		f.Retryable = true
	case kinds.IsUnserved(err):
		f.Missing = p.Object.GVK.String()
	case NamespaceMissing(err):
		f.Message = fmt.Sprintf("namespace %s does not exist", p.Name.Namespace)
		f.Retryable = true
	default:
		kind := fault.Of(clusters.Classify(err))
		// A binding may refer to a role of the same stage. The API server then answers "not found".
		f.Retryable = kind.Kind == fault.Transient && kind.Reason != "Error" || apierrors.IsNotFound(err) || isTerminating(err)
	}
	return f
}

// reasonOf returns the specific reason for the refusal of an object if there is a specific remedy for it. Otherwise
// it returns the empty string.
func reasonOf(err error) string {
	_, _, conversion := clusters.ConversionFailure(err)
	switch {
	case conversion:
		return clusters.ReasonConversionFailed
	case isTerminating(err):
		return readiness.ReasonNamespaceTerminating
	case changesImmutable(err):
		return readiness.ReasonFieldImmutable
	case notAdmitted(err):
		return readiness.ReasonNotAdmitted
	case apierrors.IsInternalError(err) && webhookSilent.MatchString(err.Error()):
		return readiness.ReasonWebhookFailed
	}
	return ""
}

// webhookSilent matches the error for an admission webhook that did not answer (k8s.io/apiserver, ErrCallingWebhook).
var webhookSilent = regexp.MustCompile(`failed calling webhook "`)

// notAdmitted reports whether admission control refused an object: a quota, a limit range, pod security, a policy or
// a webhook. All of these may admit the unchanged object later. Missing rights do not count.
func notAdmitted(err error) bool {
	message := err.Error()
	switch {
	case deniedByWebhook.MatchString(message), byPolicy(err):
		return true
	case !apierrors.IsForbidden(err) || isTerminating(err):
		return false
	}
	return !missingRight.MatchString(message) && !grantedRight.MatchString(message)
}

// NotAdmitted reports whether an object was refused by something that may admit it later: admission control, or
// missing rights.
func NotAdmitted(err error) bool {
	return !isTerminating(err) && (apierrors.IsForbidden(err) || notAdmitted(err))
}

// byPolicy reports whether a policy found an object invalid. Schema validation names the invalid fields; a policy
// does not.
func byPolicy(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	causes := causesOf(err)
	return len(causes) == 0 || slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool { return cause.Field == "" })
}

func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// HintOf returns the specific remedy for the refusal of an object; empty if there is none.
func HintOf(err error) string { return hint.For(reasonOf(err)) }

// NamespaceMissing reports whether an object could not be created because its namespace does not exist.
func NamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "namespaces"
}

// worst returns the state and the reason that follow from all failures. A kind that stays missing for too long is an
// error, and so is a retryable failure that lasts equally long. Both are retried nevertheless.
func (o *Outcomes) worst(long bool) (shared.State, string) {
	missing := false
	for _, f := range o.Failures {
		if f.Missing == "" && !f.Retryable {
			return shared.StateError, o.refused()
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

// refused returns the reason that all refused objects share, or ReasonApplyFailed if they share none.
func (o *Outcomes) refused() string {
	common := ""
	for _, f := range o.Failures {
		switch {
		case f.Missing != "" || f.Retryable:
		case f.Reason == "" || common != "" && f.Reason != common:
			return readiness.ReasonApplyFailed
		default:
			common = f.Reason
		}
	}
	return common
}

// toDo returns the remedies for the failures; empty if the hint for the reason already says everything.
func (o *Outcomes) toDo(reason string) string {
	var reasons, hints []string
	for _, f := range o.Failures {
		of := f.Reason
		switch {
		case of != "":
		case f.Missing != "":
			of = readiness.ReasonMissingAPI
		case f.Retryable:
			of = readiness.ReasonApplyRetried
		default:
			of = readiness.ReasonApplyFailed
		}
		reasons = append(reasons, of)
	}
	slices.Sort(reasons)
	if reasons = slices.Compact(reasons); len(reasons) == 1 && reasons[0] == reason {
		return ""
	}
	hints = append(hints, lists.Map(reasons, hint.For)...)
	return fault.Message(strings.Join(hints, "; "))
}

// observedHook returns the state of a module with a hook that failed or has not finished.
func observedHook(f bundle.Failure, observed readiness.Observed) readiness.Observed {
	if f.Retryable {
		observed.State, observed.Reason, observed.Message = shared.StateProcessing, readiness.ReasonHookPending, "waiting for "+f.Object
		return observed
	}
	observed.State, observed.Reason, observed.Message = shared.StateError, readiness.ReasonHookFailed, f.String()
	return observed
}

// Judge returns the result of the reconcile. Objects that the cluster refused are an error of the module. If all
// failures are retryable, or a kind may still appear, the module stays in Processing.
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
	observed.State, observed.Reason = o.worst(now.Sub(readiness.PendingSince(job.Manifest)) >= patience)
	if last := o.Failures[len(o.Failures)-1]; last.Hook && len(o.Failures) == 1 {
		// The failed hook is not one of the plan's objects.
		return manifests.OutcomeIncomplete, observedHook(last, observed)
	}
	observed.Hint = o.toDo(observed.Reason)
	observed.Message = fmt.Sprintf("%d of %d objects could not be applied: %s", len(o.Failures), job.Plan.Objects(), describeAll(o.Failures))
	return manifests.OutcomeIncomplete, observed
}

const (
	// maxDescribed bounds the text about failures, in bytes. After maxReasons bytes, only names are added.
	maxDescribed = 900
	maxReasons   = 600
)

// describeAll names the failed objects, with the reason as long as there is room and by name alone after that.
func describeAll(failures []bundle.Failure) string {
	failures = slices.SortedFunc(slices.Values(failures), func(a, b bundle.Failure) int { return strings.Compare(a.String(), b.String()) })
	var text strings.Builder
	for i, f := range failures {
		more := f.String()
		if i > 0 && text.Len()+len(more) > maxReasons {
			more = f.Object
		}
		if i > 0 && text.Len()+len(more) > maxDescribed {
			return fmt.Sprintf("%s and %d more", text.String(), len(failures)-i)
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(more)
	}
	return text.String()
}

// Ready returns how many applied objects are ready. It is called if not all objects could be applied, because then no
// wait for readiness counts them.
func (o *Outcomes) Ready(ctx context.Context, job *Installation) (int32, error) {
	observer := readiness.NewObserver(job.Target, shared.StateFromCustomResource, job.began)
	if err := observer.Resources(ctx, slices.Collect(maps.Values(o.Entries))); err != nil {
		return 0, err
	}
	return observer.Ready(), nil
}
