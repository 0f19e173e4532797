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

// hookPause is the pause between two reads of a hook.
const hookPause = 500 * time.Millisecond

// RunHooks runs hooks one after the other, each when the one before is done, as Helm does. The first that fails, or
// takes longer than a reconcile waits, is recorded; then false is returned.
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

// runHook creates the hook's object, unless an earlier reconcile did, and waits until it is done.
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
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "an object of this name exists that is not this module's"}, nil
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
			// It is of an earlier version: what ran cannot run again, it is replaced.
			if live.GetDeletionTimestamp().IsZero() {
				if err := replaceJob(ctx, job, p); err != nil {
					return p.Entry, nil, err
				}
			}
		case live == nil && begun:
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "it was deleted before it was done", Retryable: true}, nil
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
			return p.Entry, &bundle.Failure{Object: p.String(), Message: "it is not done yet", Retryable: true, Hook: true}, nil
		}
		if err := objects.Sleep(ctx, hookPause); err != nil {
			return p.Entry, nil, err
		}
	}
}

// ended tells whether a Job or Pod is done, or why it failed, as its status says.
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

// DeleteDone deletes the hooks that are to be deleted once they are done, after it was recorded that they ran.
func DeleteDone(ctx context.Context, job *Installation, done []bundle.Placed) error {
	for _, p := range done {
		_, err := objects.Delete(ctx, job.Cluster, p.Resource.GroupVersionResource, p.Name, types.UID(p.Entry.UID))
		if err != nil && objects.EndsPass(ctx, err) {
			return fmt.Errorf("delete hook %s: %w", p, err)
		}
	}
	return nil
}
