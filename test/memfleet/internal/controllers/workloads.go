package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	admissionregistrationv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
)

// coarse is how exact times in statuses are. Clusters in which the same happens within it share what they keep.
const coarse = 10 * time.Second

// becomesReady reports of which built-in kinds the status is written.
func becomesReady(resource schema.GroupResource) bool {
	return slices.Contains([]string{
		"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "jobs.batch",
		"persistentvolumeclaims", "poddisruptionbudgets.policy", "validatingadmissionpolicies.admissionregistration.k8s.io",
	}, resource.String())
}

// ready writes the status of an object as it is when all that it asks for has been done.
func (m *Manager) ready(ctx context.Context, t task) error {
	namespace, name, _ := strings.Cut(t.key, "/")
	now := metav1.NewTime(time.Now().Truncate(coarse))
	get, put := metav1.GetOptions{}, metav1.UpdateOptions{}
	switch t.resource.String() {
	case "deployments.apps":
		client := m.core.AppsV1().Deployments(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(d *appsv1.Deployment) any { d.Status = deploymentStatus(d, now); return d.Status })
	case "statefulsets.apps":
		client := m.core.AppsV1().StatefulSets(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(s *appsv1.StatefulSet) any { s.Status = statefulSetStatus(s); return s.Status })
	case "daemonsets.apps":
		client := m.core.AppsV1().DaemonSets(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(d *appsv1.DaemonSet) any {
			d.Status = appsv1.DaemonSetStatus{
				ObservedGeneration: d.Generation, CurrentNumberScheduled: 1, DesiredNumberScheduled: 1, NumberReady: 1, NumberAvailable: 1, UpdatedNumberScheduled: 1,
			}
			return d.Status
		})
	case "replicasets.apps":
		client := m.core.AppsV1().ReplicaSets(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(r *appsv1.ReplicaSet) any {
			n := *r.Spec.Replicas
			r.Status = appsv1.ReplicaSetStatus{ObservedGeneration: r.Generation, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
			return r.Status
		})
	case "jobs.batch":
		client := m.core.BatchV1().Jobs(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(j *batchv1.Job) any { j.Status = jobStatus(j, now); return j.Status })
	case "persistentvolumeclaims":
		client := m.core.CoreV1().PersistentVolumeClaims(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(p *corev1.PersistentVolumeClaim) any {
			p.Status.Phase, p.Status.AccessModes, p.Status.Capacity = corev1.ClaimBound, p.Spec.AccessModes, p.Spec.Resources.Requests
			return p.Status
		})
	case "poddisruptionbudgets.policy":
		client := m.core.PolicyV1().PodDisruptionBudgets(namespace)
		return settle(ctx, name, get, put, client.Get, client.UpdateStatus, func(p *policyv1.PodDisruptionBudget) any {
			p.Status.ObservedGeneration = p.Generation
			return p.Status
		})
	case "validatingadmissionpolicies.admissionregistration.k8s.io":
		return m.checkPolicy(ctx, t.key)
	}
	return m.readyCustom(ctx, t)
}

// checkPolicy says that the types in a policy's expressions were checked, and nothing was found. It is an apply, as the
// controller's is: who compares managed fields sees that.
func (m *Manager) checkPolicy(ctx context.Context, name string) error {
	client := m.core.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil || policy.Status.TypeChecking != nil && policy.Status.ObservedGeneration == policy.Generation {
		return err
	}
	status := admissionregistrationv1.ValidatingAdmissionPolicy(name).WithStatus(admissionregistrationv1.ValidatingAdmissionPolicyStatus().
		WithObservedGeneration(policy.Generation).WithTypeChecking(admissionregistrationv1.TypeChecking()))
	_, err = client.ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "validatingadmissionpolicy-status", Force: true})
	return err
}

func deployments() schema.GroupResource {
	return schema.GroupResource{Group: "apps", Resource: "deployments"}
}

// observe is ready for a Deployment that was changed, where its pods stay as they are: there is nothing to wait for then.
func (m *Manager) observe(ctx context.Context, t task) error {
	namespace, name, _ := strings.Cut(t.key, "/")
	d, err := m.core.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Message == progressed(d) {
			return m.ready(ctx, t)
		}
	}
	return nil
}

// progressed is what a Deployment says of its present template, whose hash is in the name of a ReplicaSet.
func progressed(d *appsv1.Deployment) string {
	hash := fnv.New32a()
	// What came from a server can be encoded, and a hash.Hash never returns an error.
	encoded, _ := json.Marshal(d.Spec.Template)
	_, _ = hash.Write(encoded)
	return fmt.Sprintf("ReplicaSet %q has successfully progressed.", fmt.Sprintf("%s-%08x", d.Name, hash.Sum32()))
}

// settle writes a status where it is not as it should be.
func settle[T any](ctx context.Context, name string, get metav1.GetOptions, put metav1.UpdateOptions,
	read func(context.Context, string, metav1.GetOptions) (T, error), write func(context.Context, T, metav1.UpdateOptions) (T, error),
	set func(T) any,
) error {
	object, err := read(ctx, name, get)
	if err != nil {
		return err
	}
	before, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	set(object)
	after, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	_, err = write(ctx, object, put)
	return err
}

func deploymentStatus(d *appsv1.Deployment, now metav1.Time) appsv1.DeploymentStatus {
	n := *d.Spec.Replicas
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: d.Status.Conditions,
	}
	if len(status.Conditions) == 2 {
		status.Conditions[1].Message = progressed(d)
	} else {
		status.Conditions = []appsv1.DeploymentCondition{
			{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable",
				Message: "Deployment has minimum availability.", LastUpdateTime: now, LastTransitionTime: now,
			},
			{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
				Message: progressed(d), LastUpdateTime: now, LastTransitionTime: now,
			},
		}
	}
	return status
}

func statefulSetStatus(s *appsv1.StatefulSet) appsv1.StatefulSetStatus {
	n := *s.Spec.Replicas
	revision := fmt.Sprintf("%s-%d", s.Name, s.Generation)
	collisions := int32(0)
	return appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, CurrentReplicas: n, UpdatedReplicas: n, AvailableReplicas: n,
		CurrentRevision: revision, UpdateRevision: revision, CollisionCount: &collisions,
	}
}

func jobStatus(j *batchv1.Job, now metav1.Time) batchv1.JobStatus {
	if len(j.Status.Conditions) > 0 || j.Spec.Suspend != nil && *j.Spec.Suspend {
		return j.Status
	}
	done := int32(1)
	if j.Spec.Completions != nil {
		done = *j.Spec.Completions
	}
	none := int32(0)
	reached := func(kind batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now,
			Reason: batchv1.JobReasonCompletionsReached, Message: "Reached expected number of succeeded pods",
		}
	}
	status := batchv1.JobStatus{
		StartTime: &now, CompletionTime: &now, Succeeded: done, Ready: &none, Terminating: &none,
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions:              []batchv1.JobCondition{reached(batchv1.JobSuccessCriteriaMet), reached(batchv1.JobComplete)},
	}
	if j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion {
		status.CompletedIndexes = "0"
		if done > 1 {
			status.CompletedIndexes = fmt.Sprintf("0-%d", done-1)
		}
	}
	return status
}

// readyCustom does what the operator of a module does: it says that a custom resource is Ready.
func (m *Manager) readyCustom(ctx context.Context, t task) error {
	served, ok := m.server.Custom(t.cluster, t.resource)
	if !ok {
		return nil
	}
	namespace, name, namespaced := strings.Cut(t.key, "/")
	if !namespaced {
		namespace, name = "", t.key
	}
	client := m.dynamic.Resource(served.GroupVersionResource).Namespace(namespace)
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if state, _, _ := unstructured.NestedString(object.Object, "status", "state"); state != "" {
		return nil
	}
	var sub []string
	if served.Status {
		sub = []string{"status"}
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"state":"Ready"}}`), metav1.PatchOptions{}, sub...)
	return err
}
