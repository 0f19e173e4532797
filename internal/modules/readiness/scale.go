package readiness

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// scaledToNothing returns why a workload that should have pods has none. It returns "" if the workload has pods, or
// if the module itself renders it without any. It takes the managed fields from live.
func scaledToNothing(u *unstructured.Unstructured, live metav1.Object) string {
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.Deployment}, schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.StatefulSet},
		schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.ReplicaSet}:
		replicas, given, err := unstructured.NestedInt64(u.Object, kinds.PathSpec, kinds.PathReplicas)
		if err != nil || !given || replicas > 0 || inventory.OwnFields(live.GetManagedFields()).Has(inventory.Replicas()) {
			return ""
		}
		return "scaled to 0 by " + ManagerName(managerOf(live.GetManagedFields(), inventory.Replicas()))
	case schema.GroupKind{Group: kinds.GroupApps, Kind: "DaemonSet"}:
		wanted, given, err := unstructured.NestedInt64(u.Object, kinds.PathStatus, "desiredNumberScheduled")
		if err != nil || !given || wanted > 0 {
			return ""
		}
		for _, field := range []string{"nodeSelector", "affinity"} {
			path := fieldpath.MakePathOrDie(kinds.PathSpec, "template", kinds.PathSpec, field)
			if manager := managerBelow(live.GetManagedFields(), path); manager != "" {
				return fmt.Sprintf("no node matches its pods, because %s changed %s", manager, path)
			}
		}
	}
	return ""
}

// managerOf returns the manager that owns a field; "" if nobody does.
func managerOf(managed []metav1.ManagedFieldsEntry, path fieldpath.Path) string {
	for i := range managed {
		if inventory.FieldsIn(&managed[i]).Has(path) {
			return managed[i].Manager
		}
	}
	return ""
}

// managerBelow returns a manager other than us that owns a field below a path; "" if there is none.
func managerBelow(managed []metav1.ManagedFieldsEntry, path fieldpath.Path) string {
	for i := range managed {
		if managed[i].Manager == shared.FieldManagerModuleResources {
			continue
		}
		for owned := range inventory.FieldsIn(&managed[i]).Leaves().All() {
			if strings.HasPrefix(owned.String(), path.String()) {
				return managed[i].Manager
			}
		}
	}
	return ""
}

// Autoscalers finds the HorizontalPodAutoscalers that target workloads of one cluster. It lists a namespace once,
// when somebody else scaled a workload there. KEDA creates a HorizontalPodAutoscaler for each of its ScaledObjects.
type Autoscalers struct {
	cluster *clusters.Cluster

	mu     sync.Mutex
	listed map[string][]unstructured.Unstructured
}

// NewAutoscalers returns Autoscalers that have not read anything yet.
func NewAutoscalers(cluster *clusters.Cluster) *Autoscalers {
	return &Autoscalers{cluster: cluster, listed: map[string][]unstructured.Unstructured{}}
}

// Scales reports whether an autoscaler targets a workload. If the autoscalers cannot be read, it returns true, so
// that the number of replicas is left alone.
func (a *Autoscalers) Scales(ctx context.Context, kind, namespace, name string) (bool, error) {
	_, found, err := a.of(ctx, kind, namespace, name)
	if err != nil && !objects.EndsPass(ctx, err) {
		return true, nil
	}
	return found, err
}

// idles reports whether an autoscaler may scale a workload to 0: an autoscaler of KEDA, or one with a minimum of 0.
func (a *Autoscalers) idles(ctx context.Context, u *unstructured.Unstructured) (bool, error) {
	autoscaler, found, err := a.of(ctx, u.GetKind(), u.GetNamespace(), u.GetName())
	if err != nil && !objects.EndsPass(ctx, err) {
		return false, nil
	}
	if err != nil || !found {
		return false, err
	}
	least, given, err := unstructured.NestedInt64(autoscaler.Object, kinds.PathSpec, "minReplicas")
	if owner := metav1.GetControllerOf(&autoscaler); owner != nil && owner.Kind == "ScaledObject" {
		return true, nil
	}
	return err == nil && given && least == 0, nil
}

func (a *Autoscalers) of(ctx context.Context, kind, namespace, name string) (unstructured.Unstructured, bool, error) {
	all, err := a.list(ctx, namespace)
	if err != nil {
		return unstructured.Unstructured{}, false, err
	}
	for _, u := range all {
		targetKind, _, _ := unstructured.NestedString(u.Object, kinds.PathSpec, "scaleTargetRef", "kind")
		target, _, _ := unstructured.NestedString(u.Object, kinds.PathSpec, "scaleTargetRef", "name")
		if targetKind == kind && target == name {
			return u, true, nil
		}
	}
	return unstructured.Unstructured{}, false, nil
}

func (a *Autoscalers) list(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if all, known := a.listed[namespace]; known {
		return all, nil
	}
	kind := schema.GroupVersionKind{Group: kinds.GroupAutoscaling, Version: "v2", Kind: kinds.HorizontalPodAutoscaler}
	resource, err := a.cluster.Mapper.Resource(ctx, kind)
	if meta.IsNoMatchError(err) {
		a.listed[namespace] = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up kind %s: %w", kind.Kind, err)
	}
	var all []unstructured.Unstructured
	err = objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := a.cluster.Dynamic.Resource(resource.GroupVersionResource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		all = append(all, page.Items...)
		return page.GetContinue(), nil
	})
	if err = objects.IgnoreUnserved(err); err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	a.listed[namespace] = all
	return all, nil
}
