package planning

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve/versions"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// manifestSpec is all that a Manifest is made of.
type manifestSpec struct {
	kyma       *v1beta2.Kyma
	settings   desired.Settings
	sync       desired.Sync
	choice     versions.Choice
	descriptor *versions.Descriptor
	name       string
	namespace  string // of what names none
	remote     bool
	mandatory  bool
	// fetch is Request.DefaultCR.
	fetch func(v1beta2.ImageSpec) ([]byte, error)
}

// manifest builds the Manifest of a module (docs/contract.md#resources).
func (b manifestSpec) manifest() (*v1beta2.Manifest, *versions.Refusal) {
	parts, refusal := layersOf(b.descriptor, b.repository())
	if refusal != nil {
		return nil, refusal
	}
	resource, refusal := b.defaultCR(parts.defaultCR)
	if refusal != nil {
		return nil, refusal
	}
	manifest := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name:            b.name,
			Namespace:       b.kyma.Namespace,
			Labels:          b.labels(),
			OwnerReferences: []metav1.OwnerReference{OwnerReference(b.kyma)},
		},
		Spec: v1beta2.ManifestSpec{
			CustomResourcePolicy: b.choice.Module.EffectivePolicy(),
			Remote:               b.remote,
			Version:              b.choice.Version,
			Config:               parts.config,
			Install:              parts.install,
			Resource:             resource,
			Manager:              b.choice.Template.Spec.Manager,
			LocalizedImages:      parts.images,
		},
	}
	annotations, refusal := b.annotations(manifest.Labels)
	if refusal != nil {
		return nil, refusal
	}
	manifest.Annotations = annotations
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest, nil
}

// repository is where components were transferred to, or where the descriptor was fetched from. Empty means what the
// descriptor says: also for a user-provided template of a remote cluster, whose owner is to reach what he could
// reach himself and not what is in our registry.
func (b manifestSpec) repository() string {
	if !descriptor.IsEmpty(b.choice.Template.Spec.Descriptor) && versions.IsUserProvided(b.choice.Template) {
		return ""
	}
	return b.settings.DescriptorRepository
}

func (b manifestSpec) labels() map[string]string {
	labels := map[string]string{
		shared.LabelKymaName:   b.kyma.Name,
		shared.LabelModuleName: moduleLabel(b.choice),
		shared.LabelManagedBy:  b.settings.ManagedBy,
	}
	if b.mandatory {
		labels[shared.LabelMandatoryModule] = shared.ValueTrue
	}
	if !b.remote {
		labels[desired.LabelSharedModule] = desired.SharedModule(b.descriptor.Component)
	}
	if b.choice.Channel != "" {
		labels[shared.LabelChannel] = b.choice.Channel
	}
	if controller := b.choice.Template.Labels[shared.LabelControllerName]; controller != "" {
		labels[shared.LabelControllerName] = controller
	}
	return labels
}

// moduleLabel is the entry's name where it can be a label's value, else the module's name by its template.
func moduleLabel(c versions.Choice) string {
	for _, name := range []string{c.Module.Name, desired.ModuleNameOf(c.Template), c.Template.Name} {
		if name != "" && len(validation.IsValidLabelValue(name)) == 0 {
			return name
		}
	}
	return c.Module.Name[strings.LastIndex(c.Module.Name, "/")+1:]
}

func (b manifestSpec) annotations(labels map[string]string) (map[string]string, *versions.Refusal) {
	annotations := map[string]string{
		shared.AnnotationFQDN:             b.descriptor.Component,
		shared.AnnotationOCMComponentName: b.descriptor.Component,
		desired.AnnotationRemoteNamespace: b.namespace,
	}
	if b.remote && b.sync.Strategy != v1beta2.SyncStrategyLocalSecret {
		annotations[desired.AnnotationRemoteStrategy] = string(b.sync.Strategy)
	}
	if b.remote && b.settings.ImagePullSecret != "" {
		annotations[desired.AnnotationImagePullSecret] = b.settings.ImagePullSecret
	}
	if b.kyma.Annotations[shared.AnnotationRecreateDefaultCR] == shared.ValueTrue {
		annotations[shared.AnnotationRecreateDefaultCR] = shared.ValueTrue
	}
	if labels[shared.LabelModuleName] != b.choice.Module.Name {
		annotations[desired.AnnotationModuleEntry] = b.choice.Module.Name
	}
	if checks := b.choice.Template.Spec.CustomStateCheck; len(checks) > 0 {
		encoded, err := json.Marshal(checks)
		if err != nil {
			return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "encode customStateCheck of ModuleTemplate %s: %v", versions.NameOf(b.choice.Template), err)
		}
		annotations[desired.AnnotationCustomStateCheck] = string(encoded)
	}
	if kinds := desired.KindsText(b.choice.Template.Spec.AssociatedResources); kinds != "" {
		annotations[desired.AnnotationAssociatedKinds] = kinds
	}
	return annotations, nil
}

// defaultCR is the default custom resource of the template, or where that has none, of the component's layer. Name
// and namespace are as docs/contract.md#namespaces-and-defaults says.
func (b manifestSpec) defaultCR(layer *v1beta2.ImageSpec) (*runtime.RawExtension, *versions.Refusal) {
	template := b.choice.Template
	object, err := template.Spec.DefaultCR()
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "ModuleTemplate %s: spec.data: %v", versions.NameOf(template), err)
	}
	if object == nil && layer != nil && b.fetch != nil {
		var refusal *versions.Refusal
		if object, refusal = b.shipped(*layer); refusal != nil {
			return nil, refusal
		}
	}
	if object == nil {
		return nil, nil
	}
	if object.GetName() == "" {
		object.SetName(b.name)
	}
	clusterScoped := template.Annotations[shared.AnnotationIsClusterScoped] == shared.ValueTrue
	switch {
	case clusterScoped:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace(b.namespace)
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "ModuleTemplate %s: spec.data: %v", versions.NameOf(template), err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// shipped is the default custom resource in a layer of the component.
func (b manifestSpec) shipped(layer v1beta2.ImageSpec) (*unstructured.Unstructured, *versions.Refusal) {
	raw, err := b.fetch(layer)
	if err != nil {
		refusal := versions.Refuse(versions.ReasonInvalidDefaultCR, "component %s: the default custom resource: %v", b.descriptor.Component, err)
		refusal.Err, refusal.Transient = err, versions.IsRetryable(err)
		if fault.Of(err).SlowRetry {
			refusal.Elsewhere = "the default custom resource in the registry"
		}
		return nil, refusal
	}
	like := v1beta2.ModuleTemplateSpec{Data: &runtime.RawExtension{Raw: raw}}
	object, err := like.DefaultCR()
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "component %s: the default custom resource: %v", b.descriptor.Component, err)
	}
	return object, nil
}

// OwnerReference makes a Kyma the controller of its Manifests.
func OwnerReference(kyma *v1beta2.Kyma) metav1.OwnerReference {
	return *metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))
}

// unmanaged is the Manifest of a module that its user took out of our hands: what it says stays, and it is
// marked. The caller owns the result.
func unmanaged(existing *v1beta2.Manifest) *v1beta2.Manifest {
	manifest := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name:            existing.Name,
			Namespace:       existing.Namespace,
			OwnerReferences: existing.OwnerReferences,
			Labels:          keep(existing.Labels, OurLabels()),
			Annotations:     keep(existing.Annotations, OurAnnotations()),
		},
		Spec: *existing.Spec.DeepCopy(),
	}
	manifest.Annotations[shared.AnnotationIsUnmanaged] = shared.ValueTrue
	return manifest
}

// OurLabels are the labels of a Manifest that are ours to set, and to take away again.
func OurLabels() []string {
	return []string{
		shared.LabelKymaName, shared.LabelModuleName, shared.LabelManagedBy, shared.LabelChannel, shared.LabelControllerName,
		shared.LabelMandatoryModule, desired.LabelSharedModule,
	}
}

// OurAnnotations are the annotations of a Manifest that are ours to set, and to take away again.
func OurAnnotations() []string {
	return []string{
		shared.AnnotationFQDN, shared.AnnotationOCMComponentName, shared.AnnotationIsUnmanaged,
		shared.AnnotationRecreateDefaultCR,
		desired.AnnotationModuleEntry, desired.AnnotationCustomStateCheck, desired.AnnotationRemoteNamespace, desired.AnnotationRemoteStrategy,
		desired.AnnotationImagePullSecret,
		desired.AnnotationAssociatedKinds,
	}
}

func keep(all map[string]string, keys []string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, set := all[key]; set {
			kept[key] = value
		}
	}
	return kept
}

// Differs tells whether a Manifest is not as wanted. Labels, annotations and fields of others do not count.
func Differs(existing, wanted *v1beta2.Manifest) bool {
	return !maps.Equal(keep(existing.Labels, OurLabels()), keep(wanted.Labels, OurLabels())) ||
		!maps.Equal(keep(existing.Annotations, OurAnnotations()), keep(wanted.Annotations, OurAnnotations())) ||
		!sameOwner(existing, wanted) ||
		!sameSpec(existing.Spec, wanted.Spec)
}

func sameOwner(existing, wanted *v1beta2.Manifest) bool {
	a, b := metav1.GetControllerOf(existing), metav1.GetControllerOf(wanted)
	return a != nil && b != nil && a.UID == b.UID
}

func sameSpec(a, b v1beta2.ManifestSpec) bool {
	if !sameJSON(a.Resource, b.Resource) {
		return false
	}
	a.Resource, b.Resource = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

// sameJSON compares two objects whatever the order of their fields; null is the same as nothing.
func sameJSON(a, b *runtime.RawExtension) bool {
	decode := func(raw *runtime.RawExtension) (any, error) {
		if raw == nil || len(raw.Raw) == 0 {
			return nil, nil
		}
		var value any
		err := json.Unmarshal(raw.Raw, &value)
		return value, err
	}
	first, err := decode(a)
	if err != nil {
		return false
	}
	second, err := decode(b)
	if err != nil {
		return false
	}
	return equality.Semantic.DeepEqual(first, second)
}

// templateRef refers to a ModuleTemplate in a status.
func templateRef(template *v1beta2.ModuleTemplate) *v1beta2.TrackedObject {
	return &v1beta2.TrackedObject{
		APIVersion: v1beta2.GroupVersion.String(),
		Kind:       shared.KindModuleTemplate,
		Metadata: v1beta2.TrackedMeta{
			Name: template.Name, Namespace: template.Namespace, Generation: template.Generation,
		},
	}
}

// Describe names a Manifest, for messages.
func Describe(manifest *v1beta2.Manifest) string {
	return fmt.Sprintf("Manifest %s/%s", manifest.Namespace, manifest.Name)
}
