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
	// podsRead is how many pods of a workload are read. Usually all fail for the same reason.
	podsRead = 50
	// eventsRead is how many Events of an object are read. Equal Events are counted in one.
	eventsRead = 100
	// eventsAfter is how long a module waits for an object before the object's Events are read.
	eventsAfter = time.Minute
	// imagePull replaces both waiting reasons of an image that cannot be pulled, because a pod alternates between them.
	imagePull = "ImagePullBackOff"
	// crashLoop is the waiting reason of a container that exits repeatedly.
	crashLoop = "CrashLoopBackOff"
)

// explain reads why objects are not ready: from the pods of workloads that failed or have been pending for too long,
// and from the Events of all other objects that are waited for. It costs nothing while a module is healthy or was
// just installed. Otherwise it costs one request for each of the first few unready objects.
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
			// If reading pods is forbidden, only the status of the workload is reported.
		case w.why != "":
			o.failed = replace(o.failed, w.failed(), w.described+" ("+objects.Shorten(w.why)+"; "+reason+")")
		default:
			o.pending = slices.DeleteFunc(o.pending, func(pending string) bool { return pending == w.described })
			o.stuck = append(o.stuck, w.described+" ("+reason+")")
		}
	}
	return o.explainOthers(ctx, now.Sub(PendingSince(m)), objects.MaxNamed-read)
}

// explainOthers adds the text of the latest Event to the first objects that are waited for.
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

// eventReason returns the shortened text of an object's latest Event; "" if there is none. Events expire after an
// hour.
func (o *Observer) eventReason(ctx context.Context, u *unstructured.Unstructured) (string, error) {
	found, err := o.Cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("events")).
		Namespace(cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)).
		List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(u.GetUID()), Limit: eventsRead})
	if err != nil {
		return "", err
	}
	return latestEvent(found.Items), nil
}

// latestEvent returns the reason and message of the latest Event.
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
	// why is the reason if the object failed.
	why string
}

func (w unreadyObject) failed() string { return w.described + " (" + objects.Shorten(w.why) + ")" }

func replace(all []string, old, by string) []string {
	if at := slices.Index(all, old); at >= 0 {
		all[at] = by
	}
	return all
}

// PendingSince returns since when the Manifest's resources have been unavailable according to its conditions; a time
// in the far future if they are available.
func PendingSince(m *v1beta2.Manifest) time.Time {
	c := meta.FindStatusCondition(m.Status.Conditions, string(shared.ConditionResources))
	if c == nil || c.Status != metav1.ConditionFalse {
		return time.Unix(1<<40, 0)
	}
	return c.LastTransitionTime.Time
}

// progressed returns when a workload last reported progress with its present template; its creation time if it
// reports none.
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

// WorkloadCondition has the fields that the conditions of all workloads share.
type WorkloadCondition struct {
	Type           string                 `json:"type"`
	Status         metav1.ConditionStatus `json:"status"`
	Reason         string                 `json:"reason"`
	Message        string                 `json:"message"`
	LastUpdateTime metav1.Time            `json:"lastUpdateTime"`
}

// ConditionsOf returns the conditions of an object; nil if they cannot be read.
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

// podsReason returns why the pods of a workload cannot run, from the newest pod that has a reason; empty if none has.
func (o *Observer) podsReason(ctx context.Context, workload *unstructured.Unstructured) (string, error) {
	if workload.GetKind() == kinds.Pod {
		return reasonOf([]unstructured.Unstructured{*workload}), nil
	}
	var selector metav1.LabelSelector
	found, _, _ := unstructured.NestedMap(workload.Object, kinds.PathSpec, "selector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &selector); err != nil || len(found) == 0 {
		return "", nil //nolint:nilerr // the workload has no selector for its pods
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	pods, err := o.Cluster.Dynamic.Resource(resource).Namespace(workload.GetNamespace()).
		List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector), Limit: podsRead})
	if err != nil {
		return "", err
	}
	return reasonOf(pods.Items), nil
}

// reasonOf returns why the newest pod that cannot run does not run; empty if all can.
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

// whyNotRunning returns why a pod cannot run; empty if it can. The text contains neither the pod's name nor a count,
// so that it stays the same over several reads. It contains nothing that a container wrote, because that may be
// secret.
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

// crashed returns how a restarted container that is not ready last exited, even while the container runs again; nil
// if it did not fail.
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
		return "it exits repeatedly"
	}
	text := fmt.Sprintf("it exits with code %d", last.ExitCode)
	if last.Reason != "" {
		text += " (" + last.Reason + ")"
	}
	return text
}
