package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// replacedWithin bounds the wait for a deleted object to disappear. After that, the next reconcile continues.
	replacedWithin = 15 * time.Second
	// replacePause is the first pause between two reads of the deleted object.
	replacePause = 100 * time.Millisecond
	// maxTrialName bounds the name of the object in the dry run. Every kind allows names of this length.
	maxTrialName = 50
)

// replace deletes an object that the API server refuses to change and creates it again, if the module's annotation
// allows that. It deletes nothing before the API server has accepted the new object in a dry run. The object stays in
// the inventory throughout, so if the process dies in between, the next reconcile creates the object.
func replace(ctx context.Context, job *Installation, p bundle.Placed, body []byte, refusal error) (*metav1.PartialObjectMetadata, error) {
	if !p.Object.Replaceable || byPolicy(refusal) {
		return nil, refusal
	}
	client := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	live, err := client.Get(ctx, p.Name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return applyInto(ctx, job, p, body)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	if !job.Owner.Owns(live) || inventory.IsKept(live) || job.IsProtected(p.Object.GVK, p.Name) {
		return nil, refusal
	}
	if live.DeletionTimestamp.IsZero() {
		if err := tryCreate(ctx, job, p, body); err != nil {
			if slices.ContainsFunc(causesOf(err), func(cause metav1.StatusCause) bool { return cause.Field == "metadata.name" }) {
				return nil, refusal // the kind allows no other name, so the dry run proves nothing
			}
			return nil, err
		}
		if _, err := objects.Delete(ctx, job.Cluster, p.Resource.GroupVersionResource, p.Name, live.UID); err != nil {
			return nil, fmt.Errorf("delete %s to create it again: %w", p, err)
		}
	}
	if err := awaitGone(ctx, job, p, live.UID); err != nil {
		return nil, err
	}
	applied, err := applyInto(ctx, job, p, body)
	if err == nil {
		job.noteReplaced(p.String())
	}
	return applied, err
}

// tryCreate asks the API server in a dry run whether it would create the object, under another name.
func tryCreate(ctx context.Context, job *Installation, p bundle.Placed, body []byte) error {
	var trial map[string]any
	if err := utiljson.Unmarshal(body, &trial); err != nil {
		return err
	}
	const suffix = "-replacement"
	name := p.Name.Name[:min(len(p.Name.Name), maxTrialName-len(suffix))]
	name = strings.TrimRight(name, "-.") + suffix
	if metadata, ok := trial[kinds.PathMetadata].(map[string]any); ok {
		metadata["name"] = name
	}
	withoutAllocated(p, trial)
	encoded, err := json.Marshal(trial)
	if err != nil {
		return err
	}
	_, err = job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).Patch(ctx, name, ApplyPatch, encoded,
		metav1.PatchOptions{FieldManager: shared.FieldManagerModuleResources, Force: new(true), DryRun: []string{metav1.DryRunAll}})
	return err
}

// withoutAllocated removes from a Service the values that only one Service can have at a time.
func withoutAllocated(p bundle.Placed, trial map[string]any) {
	spec, _ := trial[kinds.PathSpec].(map[string]any)
	if p.Object.GVK.Group != "" || p.Object.GVK.Kind != "Service" || spec == nil {
		return
	}
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok {
			delete(fields, "nodePort")
		}
	}
}

// awaitGone waits until the object with this uid no longer exists.
func awaitGone(ctx context.Context, job *Installation, p bundle.Placed, uid types.UID) error {
	client := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	deadline, wait := time.Now().Add(replacedWithin), replacePause
	for {
		live, err := client.Get(ctx, p.Name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && live.UID != uid {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		if time.Now().After(deadline) {
			held := ""
			if len(live.Finalizers) > 0 {
				held = "; waiting for its finalizers: " + strings.Join(live.Finalizers, ", ")
			}
			return fault.New(fault.Transient, readiness.ReasonApplyRetried, "it is being deleted and will be created again%s", objects.Shorten(held))
		}
		if err := objects.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// noteReplaced records that an object was replaced.
func (job *Installation) noteReplaced(object string) {
	job.replacing.Lock()
	defer job.replacing.Unlock()
	job.replaced = append(job.replaced, object)
}

// Replaced returns the objects that were deleted and created again because they could not be changed.
func (job *Installation) Replaced() []string {
	job.replacing.Lock()
	defer job.replacing.Unlock()
	return job.replaced
}
