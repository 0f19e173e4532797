package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// pullSecretVariable tells an operator the name of the image pull Secret, for workloads that it creates itself.
const pullSecretVariable = "SKR_IMG_PULL_SECRET"

// Adaptation holds the changes that a Manifest makes to the rendered objects of its layers.
type Adaptation struct {
	// Images are the references under which localized images are available.
	Images []string
	// PullSecret is the name of the image pull Secret; empty if there is none.
	PullSecret string
	// Manager is the workload that gets PullSecret in its environment; nil means every Deployment and StatefulSet. An
	// empty namespace means RemoteNamespace.
	Manager         *v1beta2.Manager
	RemoteNamespace string
}

// Key identifies an adaptation; empty if it changes nothing.
func (a Adaptation) Key() string {
	key := ""
	if len(a.Images) > 0 {
		key += fmt.Sprintf("|%q", a.Images)
	}
	if a.PullSecret != "" {
		key += "|" + a.PullSecret
		if a.Manager != nil {
			key += fmt.Sprintf("|%s|%s|%s|%s", a.Manager.Schema(), a.Manager.Namespace, a.Manager.Name, a.RemoteNamespace)
		}
	}
	return key
}

// adapt applies the adaptation to rendered objects.
func (a Adaptation) adapt(objects []*unstructured.Unstructured) error {
	replaceImages(objects, a.Images)
	if a.PullSecret == "" {
		return nil
	}
	for _, u := range objects {
		kind := u.GroupVersionKind().GroupKind()
		if kind != (schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.Deployment}) &&
			kind != (schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.StatefulSet}) {
			continue
		}
		path, _ := kinds.PodSpecPath(kind)
		found, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		pod, ok := found.(map[string]any)
		if !ok {
			continue
		}
		addPullSecret(pod, a.PullSecret)
		if !a.manages(u) {
			continue
		}
		if container, taken := setVariable(pod, a.PullSecret); taken {
			return fault.New(fault.Rejected, render.ReasonInvalidManifest,
				"%s %s: container %s has an environment variable %s, which only Lifecycle Manager may set",
				u.GetKind(), u.GetName(), container, pullSecretVariable)
		}
	}
	return nil
}

// manages reports whether a workload is the module's operator.
func (a Adaptation) manages(u *unstructured.Unstructured) bool {
	if a.Manager == nil {
		return true
	}
	return u.GroupVersionKind() == a.Manager.Schema() && u.GetName() == a.Manager.Name &&
		cmp.Or(u.GetNamespace(), a.RemoteNamespace) == cmp.Or(a.Manager.Namespace, a.RemoteNamespace)
}

// addPullSecret adds the Secret to a pod's image pull secrets.
func addPullSecret(pod map[string]any, secret string) {
	secrets, _ := pod["imagePullSecrets"].([]any)
	present := slices.ContainsFunc(secrets, func(content any) bool {
		reference, _ := content.(map[string]any)
		return reference["name"] == secret
	})
	if !present {
		pod["imagePullSecrets"] = append(slices.Clone(secrets), map[string]any{"name": secret})
	}
}

// setVariable sets the environment variable in every container. It returns the first container that already has it.
func setVariable(pod map[string]any, secret string) (container string, taken bool) {
	containers, _ := pod["containers"].([]any)
	for _, content := range containers {
		entry, ok := content.(map[string]any)
		if !ok {
			continue
		}
		variables, _ := entry["env"].([]any)
		for _, content := range variables {
			if variable, _ := content.(map[string]any); variable["name"] == pullSecretVariable {
				return fmt.Sprint(entry["name"]), true
			}
		}
		entry["env"] = append(slices.Clone(variables), map[string]any{"name": pullSecretVariable, "value": secret})
	}
	return "", false
}
