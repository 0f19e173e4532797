package install

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// giveUp drops from our intent the fields that others own by design (design, section 8): replicas of a
// workload that an autoscaler of the module targets, and CA bundles that are left for somebody to fill in.
// What we do not apply, we neither fight about nor see as drift.
func giveUp(objects []*unstructured.Unstructured) {
	scaled := scaledWorkloads(objects)
	for _, u := range objects {
		gvk := u.GroupVersionKind()
		if scaled[workload{kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}] {
			unstructured.RemoveNestedField(u.Object, pathSpec, pathReplicas)
		}
		switch gvk.GroupKind() {
		case schema.GroupKind{Group: groupAdmission, Kind: "ValidatingWebhookConfiguration"},
			schema.GroupKind{Group: groupAdmission, Kind: "MutatingWebhookConfiguration"}:
			webhooks, _, _ := unstructured.NestedFieldNoCopy(u.Object, pathWebhooks)
			list, _ := webhooks.([]any)
			for _, webhook := range list {
				if w, ok := webhook.(map[string]any); ok {
					dropEmptyCABundle(w, pathClientConfig)
				}
			}
		case schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}:
			dropEmptyCABundle(u.Object, pathSpec, pathConversion, pathWebhookClient, pathClientConfig)
		case schema.GroupKind{Group: groupAggregation, Kind: "APIService"}:
			dropEmptyCABundle(u.Object, pathSpec)
		}
	}
}

// workload names a scale target.
type workload struct{ kind, namespace, name string }

func scaledWorkloads(objects []*unstructured.Unstructured) map[workload]bool {
	scaled := map[workload]bool{}
	for _, u := range objects {
		if u.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupAutoscaling, Kind: kindAutoscaler}) {
			continue
		}
		kind, _, _ := unstructured.NestedString(u.Object, pathSpec, "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, pathSpec, "scaleTargetRef", "name")
		scaled[workload{kind: kind, namespace: u.GetNamespace(), name: name}] = true
	}
	return scaled
}

func dropEmptyCABundle(content map[string]any, path ...string) {
	bundle, found, err := unstructured.NestedString(content, append(path, pathCABundle)...)
	if err != nil || !found {
		return
	}
	// Some generators write a line break for "to be filled in".
	decoded, err := base64.StdEncoding.DecodeString(bundle)
	if bundle == "" || (err == nil && len(bytes.TrimSpace(decoded)) == 0) {
		unstructured.RemoveNestedField(content, append(path, pathCABundle)...)
	}
}

// withoutReplicas is the body of a workload without the number of its replicas, which somebody else sets.
func withoutReplicas(body []byte) ([]byte, error) {
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, pathSpec, pathReplicas)
	return json.Marshal(content)
}
