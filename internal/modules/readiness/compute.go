package readiness

import (
	"context"
	"maps"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// Compute judges an object by the rules of kstatus, and by stricter rules of our own for some kinds that kstatus
// reports as ready too early. The text says why the object failed or, if that helps, why it is not ready. Compute
// takes the managed fields from live; u itself may lack them.
func Compute(u *unstructured.Unstructured, live metav1.Object) (status.Status, string) {
	result, err := status.Compute(u)
	if err != nil {
		// A custom resource may have conditions, or a status, of any form. kstatus knows nothing about such a form, so it
		// is left out.
		if result, err = status.Compute(without(u, kinds.PathStatus, "conditions")); err != nil {
			result, err = status.Compute(without(u, kinds.PathStatus))
		}
	}
	switch {
	case err != nil:
		return status.InProgressStatus, "its status cannot be read"
	case result.Status == status.CurrentStatus:
		return computeMore(u, live)
	case result.Status == status.TerminatingStatus:
		return result.Status, heldText(u)
	case result.Status == status.FailedStatus:
		return result.Status, result.Message
	}
	return result.Status, ""
}

// computeMore judges objects that kstatus reports as ready.
func computeMore(u *unstructured.Unstructured, live metav1.Object) (status.Status, string) {
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: kinds.Pod}:
		if phase, _, _ := unstructured.NestedString(u.Object, kinds.PathStatus, "phase"); phase == "Failed" {
			reason, _, _ := unstructured.NestedString(u.Object, kinds.PathStatus, "reason")
			return status.FailedStatus, strings.TrimSuffix("the pod ended with a failure: "+reason, ": ")
		}
	case schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.StatefulSet}:
		// kstatus reports every StatefulSet with the strategy OnDelete as ready.
		wanted, given, _ := unstructured.NestedInt64(u.Object, kinds.PathSpec, kinds.PathReplicas)
		ready, _, _ := unstructured.NestedInt64(u.Object, kinds.PathStatus, "readyReplicas")
		if (!given || wanted > 0) && ready == 0 {
			return status.InProgressStatus, "none of its pods is ready"
		}
	case schema.GroupKind{Group: "batch", Kind: kinds.Job}:
		parallel, given, _ := unstructured.NestedInt64(u.Object, kinds.PathSpec, "parallelism")
		if given && parallel == 0 && !conditionIs(u, "Complete", metav1.ConditionTrue) {
			return status.InProgressStatus, "its parallelism is 0, so it runs no pod"
		}
	case schema.GroupKind{Group: kinds.GroupAggregation, Kind: "APIService"}:
		if available, why := apiAvailable(u); !available {
			return status.InProgressStatus, why
		}
	}
	if why := scaledToNothing(u, live); why != "" {
		return status.InProgressStatus, why
	}
	return status.CurrentStatus, ""
}

// Healthy reports whether an object is in the state that a ready module needs.
func Healthy(ctx context.Context, a *Autoscalers, u *unstructured.Unstructured, live metav1.Object) (bool, error) {
	state, _ := Compute(u, live)
	if state == status.InProgressStatus && isScaled(u, live) {
		return a.idles(ctx, u)
	}
	return state == status.CurrentStatus, nil
}

// isScaled reports whether a workload is not ready only because it was scaled to 0.
func isScaled(u *unstructured.Unstructured, live metav1.Object) bool {
	replicas, given, err := unstructured.NestedInt64(u.Object, kinds.PathSpec, kinds.PathReplicas)
	return err == nil && given && replicas == 0 && scaledToNothing(u, live) != ""
}

// without returns a copy of an object without a field. The copy shares everything else with the original.
func without(u *unstructured.Unstructured, path ...string) *unstructured.Unstructured {
	content := maps.Clone(u.Object)
	for at, i := content, 0; ; i++ {
		if i == len(path)-1 {
			delete(at, path[i])
			break
		}
		below, isMap := at[path[i]].(map[string]any)
		if !isMap {
			break
		}
		below = maps.Clone(below)
		at[path[i]] = below
		at = below
	}
	return &unstructured.Unstructured{Object: content}
}

func conditionIs(u *unstructured.Unstructured, kind string, value metav1.ConditionStatus) bool {
	for _, c := range ConditionsOf(u) {
		if c.Type == kind {
			return c.Status == value
		}
	}
	return false
}

// apiAvailable reports whether the server behind an APIService answers, and if not, why.
func apiAvailable(u *unstructured.Unstructured) (bool, string) {
	for _, c := range ConditionsOf(u) {
		if c.Type == "Available" {
			return c.Status == metav1.ConditionTrue, strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		}
	}
	return false, "its API is not available yet"
}

// heldText returns what a deleted object waits for.
func heldText(u *unstructured.Unstructured) string {
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		return "being deleted, waiting for its finalizer " + finalizers[0]
	}
	return "being deleted"
}
