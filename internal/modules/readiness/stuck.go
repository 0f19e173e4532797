package readiness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

const (
	// podsRead is how many pods of a workload are read: usually all fail for the same reason.
	podsRead = 50
	// eventsRead is how many Events of an object are read: equal ones are counted in one Event.
	eventsRead = 100
	// eventsAfter is how long an object is waited for before its Events are read.
	eventsAfter = time.Minute
	// imagePull is reported for both waiting reasons of an image that cannot be pulled: a pod alternates between them.
	imagePull = "ImagePullBackOff"
	// crashLoop is the waiting reason of a container that exits repeatedly.
	crashLoop = "CrashLoopBackOff"
)

// explain reads why objects are not ready: from the pods of workloads that failed, or that have been pending for too long,
// and from the Events of everything else that has been waited for. It costs nothing while a module is healthy or was
// installed just now, and otherwise one request for each of the first such objects.
func (o *Observer) explain(ctx context.Context, m *v1beta2.Manifest, now time.Time, patience time.Duration) error {
	slices.SortFunc(o.unready, func(a, b unreadyObject) int { return cmp.Compare(a.described, b.described) })
	read := 0
	for _, w := range o.unready {
		if w.why == "" && now.Sub(latest(PendingSince(m), progressed(w.object))) < patience || read == objects.MaxNamed {
			continue
		}
		read++
		reason, err := o.podsReason(ctx, w.object)
		switch {
		case err != nil && objects.EndsPass(ctx, err):
			return fmt.Errorf("list the pods of %s: %w", w.described, err)
		case err != nil, reason == "":
			// Where reading pods is forbidden, the status of the workload is all that is reported.
		case w.why != "":
			o.failed = replace(o.failed, w.failed(), w.described+" ("+objects.Shorten(w.why)+"; "+reason+")")
		default:
			o.pending = slices.DeleteFunc(o.pending, func(pending string) bool { return pending == w.described })
			o.stuck = append(o.stuck, w.described+" ("+reason+")")
		}
	}
	return o.explainOthers(ctx, now.Sub(PendingSince(m)), objects.MaxNamed-read)
}

// explainOthers adds to the first objects that are waited for what their latest Event says.
func (o *Observer) explainOthers(ctx context.Context, waited time.Duration, most int) error {
	if waited < eventsAfter {
		return nil
	}
	slices.SortFunc(o.others, func(a, b unreadyObject) int { return cmp.Compare(a.described, b.described) })
	for _, w := range o.others[:min(most, len(o.others))] {
		reason, err := o.eventReason(ctx, w.object)
		switch {
		case err != nil && objects.EndsPass(ctx, err):
			return fmt.Errorf("list the Events of %s: %w", w.described, err)
		case err == nil && reason != "":
			o.pending = replace(o.pending, w.described, w.described+" ("+reason+")")
		}
	}
	return nil
}

// eventReason returns what the latest Event of an object says, shortened; "" if there is none. Events go after an hour.
func (o *Observer) eventReason(ctx context.Context, u *unstructured.Unstructured) (string, error) {
	found, err := o.Cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("events")).
		Namespace(cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)).
		List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(u.GetUID()), Limit: eventsRead})
	if err != nil {
		return "", err
	}
	return latestEvent(found.Items), nil
}

// latestEvent returns reason and message of the latest of some Events.
func latestEvent(all []unstructured.Unstructured) string {
	newest, text := time.Time{}, ""
	for i := range all {
		var event corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[i].Object, &event); err != nil {
			continue
		}
		at := latest(latest(event.LastTimestamp.Time, event.EventTime.Time), event.CreationTimestamp.Time)
		if event.Series != nil {
			at = latest(at, event.Series.LastObservedTime.Time)
		}
		if text == "" || at.After(newest) {
			newest, text = at, strings.TrimSuffix(event.Reason+": "+event.Message, ": ")
		}
	}
	return objects.Shorten(text)
}

// unreadyObject is an object that is not ready.
type unreadyObject struct {
	described string
	object    *unstructured.Unstructured
	// why it failed, if it did.
	why string
}

func (w unreadyObject) failed() string { return w.described + " (" + objects.Shorten(w.why) + ")" }

func replace(all []string, old, by string) []string {
	if at := slices.Index(all, old); at >= 0 {
		all[at] = by
	}
	return all
}

// PendingSince is since when the Manifest says that its resources are not available; in the far future where it does not.
func PendingSince(m *v1beta2.Manifest) time.Time {
	c := meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionResources))
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Unix(1<<40, 0)
	}
	return c.LastTransitionTime.Time
}

// progressed is when a workload last reported progress with its present template; its creation, for one that reports
// nothing.
func progressed(u *unstructured.Unstructured) time.Time {
	for _, c := range ConditionsOf(u) {
		if c.Type == "Progressing" && c.Status == metav1.ConditionTrue {
			return latest(c.LastUpdateTime.Time, u.GetCreationTimestamp().Time)
		}
	}
	return u.GetCreationTimestamp().Time
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// WorkloadCondition is what the conditions of all workloads have in common.
type WorkloadCondition struct {
	Type           string                 `json:"type"`
	Status         metav1.ConditionStatus `json:"status"`
	Reason         string                 `json:"reason"`
	Message        string                 `json:"message"`
	LastUpdateTime metav1.Time            `json:"lastUpdateTime"`
}

// ConditionsOf reads the conditions of an object; none where they cannot be read.
func ConditionsOf(u *unstructured.Unstructured) []WorkloadCondition {
	var read struct {
		Conditions []WorkloadCondition `json:"conditions"`
	}
	status, _, _ := unstructured.NestedMap(u.Object, kinds.PathStatus)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &read); err != nil {
		return nil
	}
	return read.Conditions
}

// podsReason is why the pods of a workload cannot run, by the newest of them that says so; empty when none does.
func (o *Observer) podsReason(ctx context.Context, workload *unstructured.Unstructured) (string, error) {
	if workload.GetKind() == kinds.Pod {
		return reasonOf([]unstructured.Unstructured{*workload}), nil
	}
	var selector metav1.LabelSelector
	found, _, _ := unstructured.NestedMap(workload.Object, kinds.PathSpec, "selector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &selector); err != nil || len(found) == 0 {
		return "", nil //nolint:nilerr // it selects no pods that could be read
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	pods, err := o.Cluster.Dynamic.Resource(resource).Namespace(workload.GetNamespace()).
		List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector), Limit: podsRead})
	if err != nil {
		return "", err
	}
	return reasonOf(pods.Items), nil
}

// reasonOf is why the newest pod that cannot run does not; empty when there is none.
func reasonOf(pods []unstructured.Unstructured) string {
	newest, reason := metav1.Time{}, ""
	for i := range pods {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pods[i].Object, &pod); err != nil || pod.DeletionTimestamp != nil {
			continue
		}
		if why := whyNotRunning(&pod); why != "" && (reason == "" || newest.Before(&pod.CreationTimestamp)) {
			newest, reason = pod.CreationTimestamp, why
		}
	}
	return reason
}

// whyNotRunning says why a pod cannot run; empty where it can. It has neither the pod's name nor a count, so that it
// stays the same over several reads, and nothing that a container itself wrote, which may be secret.
func whyNotRunning(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "Unschedulable: " + objects.Shorten(c.Message)
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		prefix := "container " + c.Name + ": "
		if c.State.Waiting == nil {
			if last := crashed(c); last != nil {
				return prefix + crashLoop + ": " + exitText(last)
			}
			continue
		}
		switch reason := c.State.Waiting.Reason; reason {
		case "ImagePullBackOff", "ErrImagePull":
			return prefix + imagePull + ": " + objects.Shorten(pullText(c))
		case crashLoop:
			return prefix + reason + ": " + exitText(c.LastTerminationState.Terminated)
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "InvalidImageName", "ErrImageNeverPull":
			return prefix + reason + ": " + objects.Shorten(c.State.Waiting.Message)
		}
	}
	return ""
}

// crashed is how a container exited that is not ready and was restarted, also while it runs until its next exit; nil
// where it did not fail.
func crashed(c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.Ready || c.RestartCount == 0 {
		return nil
	}
	last := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		last = c.State.Terminated
	}
	if last == nil || last.ExitCode == 0 {
		return nil
	}
	return last
}

func pullText(c corev1.ContainerStatus) string {
	text := c.State.Waiting.Message
	if _, detail, found := strings.Cut(text, "ErrImagePull: "); found {
		text = detail
	}
	if strings.Contains(text, c.Image) && text != "" {
		return text
	}
	return "image " + c.Image + " cannot be pulled"
}

func exitText(last *corev1.ContainerStateTerminated) string {
	if last == nil {
		return "it exits again and again"
	}
	text := fmt.Sprintf("it exits with code %d", last.ExitCode)
	if last.Reason != "" {
		text += " (" + last.Reason + ")"
	}
	return text
}
