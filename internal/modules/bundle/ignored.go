package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// dropIgnored removes the fields that others own by design (docs/design/install-and-drift.md#ignored-fields):
//
//   - replicas of a workload that an autoscaler of the module targets
//   - CA bundles that are filled in later
//   - the rules of an aggregated role
//   - annotations that controllers write, found in objects that were exported from a cluster
//
// A field that we do not apply causes neither a conflict nor drift.
func dropIgnored(objects []*unstructured.Unstructured) {
	scaled := scaledWorkloads(objects)
	for _, u := range objects {
		gvk := u.GroupVersionKind()
		if scaled[workload{kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}] {
			unstructured.RemoveNestedField(u.Object, kinds.PathSpec, kinds.PathReplicas)
		}
		dropControllersAnnotations(u)
		switch gvk.GroupKind() {
		case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
			if _, aggregated, _ := unstructured.NestedFieldNoCopy(u.Object, "aggregationRule"); aggregated {
				unstructured.RemoveNestedField(u.Object, "rules")
			}
		case schema.GroupKind{Group: kinds.GroupAdmission, Kind: "ValidatingWebhookConfiguration"},
			schema.GroupKind{Group: kinds.GroupAdmission, Kind: "MutatingWebhookConfiguration"}:
			webhooks, _, _ := unstructured.NestedFieldNoCopy(u.Object, kinds.PathWebhooks)
			list, _ := webhooks.([]any)
			for _, webhook := range list {
				if w, ok := webhook.(map[string]any); ok {
					dropCABundle(u, w, kinds.PathClientConfig)
				}
			}
		case kinds.DefinitionKind():
			dropCABundle(u, u.Object, kinds.PathSpec, kinds.PathConversion, kinds.PathWebhookClient, kinds.PathClientConfig)
		case schema.GroupKind{Group: kinds.GroupAggregation, Kind: "APIService"}:
			dropCABundle(u, u.Object, kinds.PathSpec)
		}
	}
}

// workload identifies a scale target.
type workload struct{ kind, namespace, name string }

func scaledWorkloads(objects []*unstructured.Unstructured) map[workload]bool {
	scaled := map[workload]bool{}
	for _, u := range objects {
		if u.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: kinds.GroupAutoscaling, Kind: kinds.HorizontalPodAutoscaler}) {
			continue
		}
		kind, _, _ := unstructured.NestedString(u.Object, kinds.PathSpec, "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, kinds.PathSpec, "scaleTargetRef", "name")
		scaled[workload{kind: kind, namespace: u.GetNamespace(), name: name}] = true
	}
	return scaled
}

// dropCABundle removes a CA bundle that is empty, or any CA bundle that cert-manager fills in.
func dropCABundle(u *unstructured.Unstructured, content map[string]any, path ...string) {
	for _, annotation := range []string{
		"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
	} {
		if u.GetAnnotations()[annotation] != "" {
			unstructured.RemoveNestedField(content, append(path, kinds.PathCABundle)...)
			return
		}
	}
	bundle, found, err := unstructured.NestedString(content, append(path, kinds.PathCABundle)...)
	if err != nil || !found {
		return
	}
	// Some generators write a line break to mean "filled in later".
	decoded, err := base64.StdEncoding.DecodeString(bundle)
	if bundle == "" || (err == nil && len(bytes.TrimSpace(decoded)) == 0) {
		unstructured.RemoveNestedField(content, append(path, kinds.PathCABundle)...)
	}
}

// WithoutReplicas returns the body of a workload without its number of replicas, for a workload that somebody else
// scales.
func WithoutReplicas(body []byte) ([]byte, error) {
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, kinds.PathSpec, kinds.PathReplicas)
	return json.Marshal(content)
}

// HasReplicas reports whether the body of a workload has a number of replicas.
func HasReplicas(body []byte) (bool, error) {
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		return false, err
	}
	_, found, err := unstructured.NestedFieldNoCopy(content, kinds.PathSpec, kinds.PathReplicas)
	return found && err == nil, nil
}

// dropControllersAnnotations removes the annotations in which controllers of kube-controller-manager keep their
// state: for Deployments, DaemonSets, volume binding, autoscaling and leader election. The controllers write them
// again.
func dropControllersAnnotations(u *unstructured.Unstructured) {
	for _, annotation := range []string{
		"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
		"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
		"deprecated.daemonset.template.generation",
		"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node",
		"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
		"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics",
		"control-plane.alpha.kubernetes.io/leader",
	} {
		unstructured.RemoveNestedField(u.Object, kinds.PathMetadata, kinds.PathAnnotations, annotation)
	}
}
