package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// hookPause is the pause between two reads of a hook's object.
const hookPause = 500 * time.Millisecond

// RunHooks runs hooks one after the other, as Helm does: each starts after the previous one has finished. If a hook
// fails, or takes longer than HookPatience, RunHooks records the failure and returns false.
func (a *Applier) RunHooks(ctx context.Context, job *Installation, hooks []bundle.Placed, all *Outcomes) (bool, error) {
	deadline := time.Now().Add(a.Options.HookPatience)
	for _, p := range hooks {
		entry, f, err := runHook(ctx, job, p, deadline)
		if err != nil {
			if objects.EndsPass(ctx, err) {
				return false, fmt.Errorf("run hook %s: %w", p, err)
			}
			f = new(failureOf(p, job.Mapper, err))
		}
		if f != nil {
			f.Object = "hook " + f.Object
			all.failed(*f)
			return false, nil
		}
		all.applied(entry)
		if p.Hook.DeleteOnSuccess {
			all.Done = append(all.Done, p.With(entry))
		}
	}
	return true, nil
}

// runHook creates the hook's object, unless an earlier reconcile did, and waits until the hook has finished.
func runHook(ctx context.Context, job *Installation, p bundle.Placed, deadline time.Time) (v1beta2.InventoryEntry, *bundle.Failure, error) {
	client := job.Cluster.Dynamic.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	runs := kinds.RunsToCompletion(p.Object.GVK.GroupKind())
	begun := false
	for {
		live, err := client.Get(ctx, p.Name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		if err != nil {
			return p.Entry, nil, err
		}
		ours := live != nil && job.Owner.Owns(live) && live.GetAnnotations()[shared.AnnotationHookRun] == job.Owner.Run+"-"+p.Hook.Phase
		switch {
		case live != nil && !job.Owner.Owns(live):
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "an object with this name exists and does not belong to this module"}, nil
		case ours && runs:
			done, failed := ended(live)
			if failed != "" {
				return p.Entry, &bundle.Failure{Object: p.String(), Message: failed, Hook: true}, nil
			}
			if done {
				entry := p.Entry
				entry.UID, entry.Ran = string(live.GetUID()), inventory.HookRan(inventory.LayersRef(job.Manifest), p.Hook.Phase)
				return entry, nil, nil
			}
		case live != nil && runs:
			// The object is from an earlier version. It cannot run again, so it is replaced.
			if live.GetDeletionTimestamp().IsZero() {
				if err := replaceJob(ctx, job, p); err != nil {
					return p.Entry, nil, err
				}
			}
		case live == nil && begun:
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "it was deleted before it finished", Retryable: true}, nil
		default:
			applied, err := applyInto(ctx, job, p, p.Object.Body.Fill(job.Owner))
			if err != nil {
				return p.Entry, nil, err
			}
			if !runs {
				entry := p.Entry
				entry.UID, entry.Hash = string(applied.UID), inventory.ObjectHash(applied)
				entry.Ran = inventory.HookRan(inventory.LayersRef(job.Manifest), p.Hook.Phase)
				return entry, nil, nil
			}
			begun = true
		}
		if time.Now().After(deadline) {
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "it has not finished yet", Retryable: true, Hook: true}, nil
		}
		if err := objects.Sleep(ctx, hookPause); err != nil {
			return p.Entry, nil, err
		}
	}
}

// ended reports whether a Job or Pod has succeeded, or returns why it failed, according to its status.
func ended(u *unstructured.Unstructured) (done bool, failed string) {
	if u.GetKind() == kinds.Pod {
		phase, _, _ := unstructured.NestedString(u.Object, kinds.PathStatus, "phase")
		return phase == string(corev1.PodSucceeded), failedText(phase == string(corev1.PodFailed), nestedText(u, "reason"), nestedText(u, "message"))
	}
	for _, c := range readiness.ConditionsOf(u) {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case "Complete", "SuccessCriteriaMet":
			return true, ""
		case "Failed":
			return false, failedText(true, c.Reason, c.Message)
		}
	}
	return false, ""
}

func nestedText(u *unstructured.Unstructured, field string) string {
	text, _, _ := unstructured.NestedString(u.Object, kinds.PathStatus, field)
	return text
}

func failedText(failed bool, reason, message string) string {
	switch {
	case !failed:
		return ""
	case reason == "" && message == "":
		return "it failed"
	case message == "":
		return "it failed: " + objects.Shorten(reason)
	case reason == "":
		return "it failed: " + objects.Shorten(message)
	default:
		return "it failed: " + objects.Shorten(reason+": "+message)
	}
}

// DeleteDone deletes finished hooks. It must be called after the status records that they ran.
func DeleteDone(ctx context.Context, job *Installation, done []bundle.Placed) error {
	for _, p := range done {
		_, err := objects.Delete(ctx, job.Cluster, p.Resource.GroupVersionResource, p.Name, types.UID(p.Entry.UID))
		if err != nil && objects.EndsPass(ctx, err) {
			return fmt.Errorf("delete hook %s: %w", p, err)
		}
	}
	return nil
}
