// Package upstream leaves modules in clusters as Lifecycle Manager's upstream does: objects with its marks and field
// manager in the remote cluster, and a Manifest whose status lists them and knows nothing else of them. Tests of what is
// taken over begin with them.
package upstream

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// mark is the annotation with which upstream marks a module's objects.
	mark = "deprecated-operator.kyma-project.io/owned-by"
	// applier is the field manager of upstream for a module's objects and for the status of a Manifest.
	applier = "declarative.kyma-project.io/applier"
	// creator is its field manager for default custom resources, and its finalizer on Manifests that have one.
	creator = "resource.kyma-project.io/finalizer"
)

// Install applies the objects of a module as upstream does for this Manifest. All that are namespaced must name their
// namespace, as upstream has another default. It returns what upstream lists in the status of the Manifest.
func Install(ctx context.Context, remote client.Client, m *v1beta2.Manifest, module string) ([]v1beta2.SyncedObject, error) {
	var synced []v1beta2.SyncedObject
	for _, document := range strings.Split(module, "\n---") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			return nil, fmt.Errorf("decode an object: %w", err)
		}
		if len(u.Object) == 0 {
			continue
		}
		if err := apply(ctx, remote, m, u); err != nil {
			return nil, err
		}
		gvk := u.GroupVersionKind()
		synced = append(synced, v1beta2.SyncedObject{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: u.GetName(), Namespace: u.GetNamespace(),
		})
	}
	return synced, nil
}

func apply(ctx context.Context, remote client.Client, m *v1beta2.Manifest, u *unstructured.Unstructured) error {
	if namespace := u.GetNamespace(); namespace != "" {
		err := remote.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", namespace, err)
		}
	}
	labels := map[string]string{}
	for key, value := range u.GetLabels() {
		labels[key] = value
	}
	labels["operator.kyma-project.io/managed-by"] = "kyma"
	labels["app.kubernetes.io/component"] = m.Name
	labels["app.kubernetes.io/part-of"] = "Kyma"
	u.SetLabels(labels)
	annotations := map[string]string{}
	for key, value := range u.GetAnnotations() {
		annotations[key] = value
	}
	annotations[mark] = m.Namespace + "/" + m.Name
	annotations["operator.kyma-project.io/managed-by-reconciler-disclaimer"] = "DO NOT EDIT - This resource is managed by Kyma.\n" +
		"Any modifications are discarded and the resource is reverted to the original state."
	u.SetAnnotations(annotations)
	unstructured.RemoveNestedField(u.Object, "status")
	if err := remote.Patch(ctx, u, client.Apply, client.FieldOwner(applier), client.ForceOwnership); err != nil { //nolint:staticcheck // the same request
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

// CreateDefaultCR creates the default custom resource of a Manifest.
func CreateDefaultCR(ctx context.Context, remote client.Client, m *v1beta2.Manifest) error {
	cr, err := m.Spec.DefaultCR()
	if err != nil {
		return err
	}
	cr.SetLabels(map[string]string{"operator.kyma-project.io/managed-by": "kyma"})
	return remote.Create(ctx, cr, client.FieldOwner(creator))
}

// Shape gives a Manifest the spec, labels, annotations and finalizers that upstream gives it. Upstream does not say that
// a Manifest is for a remote cluster, names a repository without the folder of components, and knows none of our own
// labels and annotations: its plan applies a Manifest with our field manager and by force, so that ours go.
func Shape(m *v1beta2.Manifest) {
	m.Spec.Remote = false
	for _, image := range []*v1beta2.ImageSpec{&m.Spec.Install.Source, m.Spec.Config} {
		if image != nil {
			image.Repo = strings.TrimSuffix(image.Repo, "/component-descriptors")
			image.MediaType, image.Size = "", 0
		}
	}
	m.Finalizers = []string{"declarative.kyma-project.io/finalizer", "label-removal-finalizer"}
	if m.Spec.Resource != nil {
		m.Finalizers = append(m.Finalizers, creator)
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	for _, own := range []string{
		"spec-digest", "remote-namespace", "remote-strategy", "custom-state-check", "associated-kinds", "image-pull-secret", "module-entry",
		"background", "since", "trace",
	} {
		delete(m.Annotations, "operator.kyma-project.io/"+own)
	}
	delete(m.Labels, "operator.kyma-project.io/shared-module")
	for _, component := range []string{"operator.kyma-project.io/fqdn", "operator.kyma-project.io/ocm-component-name"} {
		m.Annotations[component] = m.Spec.Install.Source.Name
	}
	m.Annotations["sync-oci-ref"] = m.Spec.Install.Source.Ref
}

// Status is the status that upstream writes for a module that is ready.
func Status(m *v1beta2.Manifest, synced []v1beta2.SyncedObject) v1beta2.ManifestStatus {
	now := metav1.Now()
	status := v1beta2.ManifestStatus{
		State: shared.StateReady, Synced: synced,
		LastOperation: &v1beta2.LastOperation{Operation: "installation is ready and resources can be used", LastUpdateTime: now},
	}
	for _, c := range []struct{ kind, reason, message string }{
		{"Resources", "ResourcesAvailable", "resources are parsed and ready for use"},
		{"Installation", "Ready", "installation is ready and resources can be used"},
		{"ModuleCR", "ModuleCRCreated", "module CR was created"},
	} {
		if c.kind == "ModuleCR" && m.Spec.Resource == nil {
			continue
		}
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: c.kind, Status: metav1.ConditionTrue, Reason: c.reason, Message: c.message, LastTransitionTime: now, ObservedGeneration: 1,
		})
	}
	return status
}
