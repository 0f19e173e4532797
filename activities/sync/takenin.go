package sync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// annotationTakenVersion on a taken-in template says which version of the template in the remote cluster it is a
// copy of, `<uid>/<generation>`, and by a digest under which list of registries it was let in.
const annotationTakenVersion = shared.OperatorGroup + "/taken-version"

// takenLabels are the labels that mean something on a template made by hand; `beta`, `internal` and what else
// says who may have a module does not, for it is its owner's alone.
func takenLabels() []string {
	return []string{shared.LabelModuleName, shared.LabelControllerName, shared.LabelSignature}
}

// copiesOf lists the taken-in templates of a Kyma by name, from the cache.
func (a *Activities) copiesOf(ctx context.Context, kyma *v1beta2.Kyma) (map[string]*v1beta2.ModuleTemplate, error) {
	var list v1beta2.ModuleTemplateList
	if err := a.catalog.List(ctx, &list, client.InNamespace(kyma.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleTemplates: %w", err)
	}
	copies := map[string]*v1beta2.ModuleTemplate{}
	for i := range list.Items {
		template := &list.Items[i]
		_, taken := desired.TakenFrom(template)
		if owner := metav1.GetControllerOf(template); taken && owner != nil && owner.UID == kyma.UID {
			copies[template.Name] = template
		}
	}
	return copies, nil
}

// takenVersion identifies what a copy is made of, as far as it is not copied metadata.
func (a *Activities) takenVersion(found client.Object) string {
	sum := sha256.Sum256([]byte(a.registries.String()))
	return fmt.Sprintf("%s/%d/%s", found.GetUID(), found.GetGeneration(), hex.EncodeToString(sum[:4]))
}

// takenMetadata are the labels and annotations that the copy of a template has.
func (a *Activities) takenMetadata(kyma *v1beta2.Kyma, found client.Object) (labels, annotations map[string]string) {
	labels = map[string]string{shared.LabelManagedBy: a.settings.ManagedBy}
	if len(validation.IsValidLabelValue(kyma.Name)) == 0 {
		labels[shared.LabelKymaName] = kyma.Name
	}
	for _, key := range takenLabels() {
		if value := found.GetLabels()[key]; value != "" {
			labels[key] = value
		}
	}
	annotations = map[string]string{
		desired.AnnotationTakenFrom: nameOf(found),
		annotationTakenVersion:      a.takenVersion(found),
	}
	if value := found.GetAnnotations()[shared.AnnotationIsClusterScoped]; value != "" {
		annotations[shared.AnnotationIsClusterScoped] = value
	}
	return labels, annotations
}

// takenInAs tells whether a copy is as it is to be, by the metadata of the template.
func (a *Activities) takenInAs(kyma *v1beta2.Kyma, existing *v1beta2.ModuleTemplate, found client.Object) bool {
	labels, annotations := a.takenMetadata(kyma, found)
	for _, key := range takenLabels() {
		if existing.Labels[key] != labels[key] {
			return false
		}
	}
	return unchanged(existing) && existing.DeletionTimestamp.IsZero() &&
		existing.Annotations[shared.AnnotationIsClusterScoped] == annotations[shared.AnnotationIsClusterScoped] &&
		hasLabels(existing.Labels, labels) && hasLabels(existing.Annotations, annotations)
}

// writeTakenIn writes the copy of a template. It is installed in the remote cluster and nowhere else, and only
// where a module asks for it (docs/design/sync.md#user-provided-templates).
func (a *Activities) writeTakenIn(ctx context.Context, kyma *v1beta2.Kyma, template, existing *v1beta2.ModuleTemplate) (resolve.Version, error) {
	limited := &v1beta2.ModuleTemplate{Spec: *template.Spec.DeepCopy()}
	limited.Spec.Mandatory = false
	limited.Spec.Target = v1beta2.TargetRemote
	spec, err := specOf(limited)
	if err != nil {
		return resolve.Version{}, err
	}
	name := desired.TakenInName(kyma, template.Namespace, template.Name)
	body := func(generation int64) (*unstructured.Unstructured, error) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(ourKind(shared.KindModuleTemplate))
		object.SetName(name)
		object.SetNamespace(kyma.Namespace)
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(kyma, ourKind(shared.KindKyma))})
		labels, annotations := a.takenMetadata(kyma, template)
		annotations[annotationGeneration] = fmt.Sprint(generation)
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
		return object, nil
	}
	expected := int64(1)
	if existing != nil {
		expected = existing.Generation + 1
	}
	written, _, err := applyNoted(ctx, a.controlPlane, shared.FieldManagerLifecycleManager, body, expected)
	if err != nil {
		return resolve.Version{}, err
	}
	return resolve.Version{
		Kind: shared.KindModuleTemplate, Namespace: kyma.Namespace, Name: name, ResourceVersion: written.GetResourceVersion(),
	}, nil
}

// deleteTakenIn deletes a copy that is of no use any more.
func (a *Activities) deleteTakenIn(ctx context.Context, template *v1beta2.ModuleTemplate) error {
	if !template.DeletionTimestamp.IsZero() {
		return nil
	}
	uid := template.UID
	target := metadataOf(ourKind(shared.KindModuleTemplate))
	target.Name, target.Namespace = template.Name, template.Namespace
	err := a.controlPlane.Delete(ctx, target, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return controlPlaneFault("delete ModuleTemplate "+nameOf(template), err)
	}
	return nil
}

// controlPlaneFault is a failure of the control plane, which says nothing about the remote cluster.
func controlPlaneFault(what string, err error) error {
	return fault.New(fault.Transient, ReasonRemoteTemplate, "%s: %w", what, err)
}

// specSize is the size of a template's spec as JSON.
func specSize(template *v1beta2.ModuleTemplate) (int, error) {
	encoded, err := json.Marshal(template.Spec)
	if err != nil {
		return 0, fmt.Errorf("encode ModuleTemplate %s: %w", nameOf(template), err)
	}
	return len(encoded), nil
}

// sizeOf estimates the size of a copy by its parts that can be large.
func sizeOf(template *v1beta2.ModuleTemplate) int {
	size := 0
	if template.Spec.Descriptor != nil {
		size += len(template.Spec.Descriptor.Raw)
	}
	if template.Spec.Data != nil {
		size += len(template.Spec.Data.Raw)
	}
	return size
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
