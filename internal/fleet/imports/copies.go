package imports

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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// annotationImportedVersion on an imported template identifies the version of the remote template that it is a copy of,
// `<uid>/<generation>`, and the list of allowed registries at that time by a digest.
const annotationImportedVersion = shared.OperatorGroup + "/imported-version"

// copiedLabels returns the labels that have a meaning on a user-provided template. `beta`, `internal` and other labels
// that restrict access have none, because only the template's owner can use it.
func copiedLabels() []string {
	return []string{shared.LabelModuleName, shared.LabelControllerName, shared.LabelSignature}
}

// copiesOf returns the imported templates of a Kyma by name, from the cache.
func (m *Importer) copiesOf(ctx context.Context, kyma *v1beta2.Kyma) (map[string]*v1beta2.ModuleTemplate, error) {
	var list v1beta2.ModuleTemplateList
	if err := m.catalog.List(ctx, &list, client.InNamespace(kyma.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModuleTemplates: %w", err)
	}
	copies := map[string]*v1beta2.ModuleTemplate{}
	for i := range list.Items {
		template := &list.Items[i]
		_, imported := desired.ImportedFrom(template)
		if owner := metav1.GetControllerOf(template); imported && owner != nil && owner.UID == kyma.UID {
			copies[template.Name] = template
		}
	}
	return copies, nil
}

// importedVersion identifies the content of a copy, except for the copied metadata.
func (m *Importer) importedVersion(found client.Object) string {
	sum := sha256.Sum256([]byte(m.registries.String()))
	return fmt.Sprintf("%s/%d/%s", found.GetUID(), found.GetGeneration(), hex.EncodeToString(sum[:4]))
}

// copyMetadata returns the labels and annotations of a template's copy.
func (m *Importer) copyMetadata(kyma *v1beta2.Kyma, found client.Object) (labels, annotations map[string]string) {
	labels = map[string]string{shared.LabelManagedBy: m.settings.ManagedBy}
	if len(validation.IsValidLabelValue(kyma.Name)) == 0 {
		labels[shared.LabelKymaName] = kyma.Name
	}
	for _, key := range copiedLabels() {
		if value := found.GetLabels()[key]; value != "" {
			labels[key] = value
		}
	}
	annotations = map[string]string{
		desired.AnnotationImportedFrom: desired.NameOf(found),
		annotationImportedVersion:      m.importedVersion(found),
	}
	if value := found.GetAnnotations()[shared.AnnotationIsClusterScoped]; value != "" {
		annotations[shared.AnnotationIsClusterScoped] = value
	}
	return labels, annotations
}

// isCurrent reports whether a copy matches the metadata of its template.
func (m *Importer) isCurrent(kyma *v1beta2.Kyma, existing *v1beta2.ModuleTemplate, found client.Object) bool {
	labels, annotations := m.copyMetadata(kyma, found)
	for _, key := range copiedLabels() {
		if existing.Labels[key] != labels[key] {
			return false
		}
	}
	return remote.IsUnchanged(existing) && existing.DeletionTimestamp.IsZero() &&
		existing.Annotations[shared.AnnotationIsClusterScoped] == annotations[shared.AnnotationIsClusterScoped] &&
		remote.HasLabels(existing.Labels, labels) && remote.HasLabels(existing.Annotations, annotations)
}

// writeCopy writes the copy of a template. The copy can only be installed in the remote cluster, and only if a module
// asks for it (docs/design/sync.md#user-provided-templates).
func (m *Importer) writeCopy(ctx context.Context, kyma *v1beta2.Kyma, template, existing *v1beta2.ModuleTemplate) (desired.Seen, error) {
	limited := &v1beta2.ModuleTemplate{Spec: *template.Spec.DeepCopy()}
	limited.Spec.Mandatory = false
	limited.Spec.Target = v1beta2.TargetRemote
	spec, err := catalog.SpecOf(limited)
	if err != nil {
		return desired.Seen{}, err
	}
	name := desired.ImportedName(kyma, template.Namespace, template.Name)
	body := func(generation int64) (*unstructured.Unstructured, error) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(remote.Kind(shared.KindModuleTemplate))
		object.SetName(name)
		object.SetNamespace(kyma.Namespace)
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(kyma, remote.Kind(shared.KindKyma))})
		labels, annotations := m.copyMetadata(kyma, template)
		annotations[remote.AnnotationGeneration] = fmt.Sprint(generation)
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
		return object, nil
	}
	expected := int64(1)
	if existing != nil {
		expected = existing.Generation + 1
	}
	written, _, err := remote.Apply(ctx, m.controlPlane, shared.FieldManagerLifecycleManager, body, expected)
	if err != nil {
		return desired.Seen{}, err
	}
	return desired.Seen{
		Kind: shared.KindModuleTemplate, Namespace: kyma.Namespace, Name: name, ResourceVersion: written.GetResourceVersion(),
	}, nil
}

// deleteCopy deletes a copy that is no longer needed.
func (m *Importer) deleteCopy(ctx context.Context, template *v1beta2.ModuleTemplate) error {
	if !template.DeletionTimestamp.IsZero() {
		return nil
	}
	target := remote.MetadataOf(remote.Kind(shared.KindModuleTemplate))
	target.Name, target.Namespace = template.Name, template.Namespace
	err := m.controlPlane.Delete(ctx, target, client.Preconditions{UID: new(template.UID)})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return controlPlaneFault("delete ModuleTemplate "+desired.NameOf(template), err)
	}
	return nil
}

// specSize is the size of a template's spec as JSON.
func specSize(template *v1beta2.ModuleTemplate) (int, error) {
	encoded, err := json.Marshal(template.Spec)
	if err != nil {
		return 0, fmt.Errorf("encode ModuleTemplate %s: %w", desired.NameOf(template), err)
	}
	return len(encoded), nil
}

// sizeOf estimates the size of a copy from its large parts.
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
