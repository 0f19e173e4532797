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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// manifestInputs are the inputs of a Manifest.
type manifestInputs struct {
	*planner
	*entry
	name      string
	namespace string // for objects that name no namespace
	remote    bool
}

// manifestFor returns the Manifest of an entry in the chosen version.
func (p *planner) manifestFor(e *entry, remote bool) (*v1beta2.Manifest, *versions.Refusal) {
	return manifestInputs{p, e, p.nameFor(e), p.namespaceFor(e), remote}.manifest()
}

// manifest builds the Manifest of a module (docs/contract.md#resources).
func (in manifestInputs) manifest() (*v1beta2.Manifest, *versions.Refusal) {
	parts, refusal := layersOf(in.descriptor, in.repository())
	if refusal != nil {
		return nil, refusal
	}
	resource, refusal := in.defaultCR(parts.defaultCR)
	if refusal != nil {
		return nil, refusal
	}
	manifest := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name:            in.name,
			Namespace:       in.Kyma.Namespace,
			Labels:          in.labels(),
			OwnerReferences: []metav1.OwnerReference{OwnerReference(in.Kyma)},
		},
		Spec: v1beta2.ManifestSpec{
			CustomResourcePolicy: in.Module.EffectivePolicy(),
			Remote:               in.remote,
			Version:              in.Version,
			Config:               parts.config,
			Install:              parts.install,
			Resource:             resource,
			Manager:              in.Template.Spec.Manager,
			LocalizedImages:      parts.images,
		},
	}
	for _, image := range imagesOf(&manifest.Spec) {
		image.Repo = descriptor.InManifest(image.Repo, image.Name, in.descriptor.Component)
	}
	annotations, refusal := in.annotations(manifest.Labels)
	if refusal != nil {
		return nil, refusal
	}
	manifest.Annotations = annotations
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest, nil
}

// repository returns the repository to which components were transferred, or from which the descriptor was fetched.
// Empty means the repository in the descriptor. A user-provided template always uses that one: its owner must not get
// access to the content of our registry.
func (in manifestInputs) repository() string {
	if !descriptor.IsEmpty(in.Template.Spec.Descriptor) && versions.IsUserProvided(in.Template) {
		return ""
	}
	return in.Settings.DescriptorRepository
}

func (in manifestInputs) labels() map[string]string {
	labels := map[string]string{
		shared.LabelKymaName:   in.Kyma.Name,
		shared.LabelModuleName: moduleLabel(in.Choice),
		shared.LabelManagedBy:  in.Settings.ManagedBy,
	}
	if in.mandatory {
		labels[shared.LabelMandatoryModule] = shared.ValueTrue
	}
	if !in.remote {
		labels[desired.LabelSharedModule] = desired.SharedModule(in.descriptor.Component)
	}
	if in.Channel != "" {
		labels[shared.LabelChannel] = in.Channel
	}
	if controller := in.Template.Labels[shared.LabelControllerName]; controller != "" {
		labels[shared.LabelControllerName] = controller
	}
	return labels
}

// moduleLabel returns the entry's name if it is a valid label value, else the module's name from its template.
func moduleLabel(c versions.Choice) string {
	for _, name := range []string{c.Module.Name, desired.ModuleNameOf(c.Template), c.Template.Name} {
		if name != "" && len(validation.IsValidLabelValue(name)) == 0 {
			return name
		}
	}
	return c.Module.Name[strings.LastIndex(c.Module.Name, "/")+1:]
}

func (in manifestInputs) annotations(labels map[string]string) (map[string]string, *versions.Refusal) {
	annotations := map[string]string{
		shared.AnnotationFQDN:             in.descriptor.Component,
		shared.AnnotationOCMComponentName: in.descriptor.Component,
		desired.AnnotationRemoteNamespace: in.namespace,
	}
	if in.remote && in.sync.Strategy != v1beta2.SyncStrategyLocalSecret {
		annotations[desired.AnnotationRemoteStrategy] = string(in.sync.Strategy)
	}
	if in.remote && in.Settings.ImagePullSecret != "" {
		annotations[desired.AnnotationImagePullSecret] = in.Settings.ImagePullSecret
	}
	if in.Settings.Injects(labels[shared.LabelModuleName]) && !versions.IsUserProvided(in.Template) {
		annotations[shared.AnnotationInjects] = shared.ValueTrue
	}
	if in.Kyma.Annotations[shared.AnnotationRecreateDefaultCR] == shared.ValueTrue {
		annotations[shared.AnnotationRecreateDefaultCR] = shared.ValueTrue
	}
	if labels[shared.LabelModuleName] != in.Module.Name {
		annotations[desired.AnnotationModuleEntry] = in.Module.Name
	}
	if checks := in.Template.Spec.CustomStateCheck; len(checks) > 0 {
		encoded, err := json.Marshal(checks)
		if err != nil {
			return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "encode customStateCheck of ModuleTemplate %s: %v", desired.NameOf(in.Template), err)
		}
		annotations[desired.AnnotationCustomStateCheck] = string(encoded)
	}
	if kinds := desired.KindsText(in.Template.Spec.AssociatedResources); kinds != "" {
		annotations[desired.AnnotationAssociatedKinds] = kinds
	}
	return annotations, nil
}

// defaultCR returns the default custom resource of the template or, if it has none, of the component's layer. Name and
// namespace follow docs/contract.md#namespaces-and-defaults.
func (in manifestInputs) defaultCR(layer *v1beta2.ImageSpec) (*runtime.RawExtension, *versions.Refusal) {
	template := in.Template
	object, err := template.Spec.DefaultCR()
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "ModuleTemplate %s: spec.data: %v", desired.NameOf(template), err)
	}
	if object == nil && layer != nil && in.DefaultCR != nil {
		var refusal *versions.Refusal
		if object, refusal = in.shipped(*layer); refusal != nil {
			return nil, refusal
		}
	}
	if object == nil {
		return nil, nil
	}
	if object.GetName() == "" {
		object.SetName(in.name)
	}
	clusterScoped := template.Annotations[shared.AnnotationIsClusterScoped] == shared.ValueTrue
	switch {
	case clusterScoped:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace(in.namespace)
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "ModuleTemplate %s: spec.data: %v", desired.NameOf(template), err)
	}
	if len(raw) > descriptor.MaxDefaultCRBytes {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "the default custom resource of module %s has %d bytes; the limit is %d",
			in.Module.Name, len(raw), descriptor.MaxDefaultCRBytes).WithHint("publish the module with a smaller default custom resource")
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// shipped returns the default custom resource from a layer of the component.
func (in manifestInputs) shipped(layer v1beta2.ImageSpec) (*unstructured.Unstructured, *versions.Refusal) {
	raw, err := in.DefaultCR(layer)
	if err != nil {
		refusal := versions.Refuse(versions.ReasonInvalidDefaultCR, "component %s: the default custom resource: %v", in.descriptor.Component, err)
		refusal.Err, refusal.Transient = err, versions.IsRetryable(err)
		if fault.Of(err).SlowRetry {
			refusal.Elsewhere = "the default custom resource in the registry"
		}
		return nil, refusal
	}
	like := v1beta2.ModuleTemplateSpec{Data: &runtime.RawExtension{Raw: raw}}
	object, err := like.DefaultCR()
	if err != nil {
		return nil, versions.Refuse(versions.ReasonInvalidDefaultCR, "component %s: the default custom resource: %v", in.descriptor.Component, err)
	}
	return object, nil
}

// OwnerReference returns the reference that makes a Kyma the controller of its Manifests.
func OwnerReference(kyma *v1beta2.Kyma) metav1.OwnerReference {
	return *metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))
}

// unmanaged returns the Manifest of a module that its user no longer wants us to manage: a copy of the present Manifest
// with the annotation is-unmanaged. The caller may change the result.
func unmanaged(existing *v1beta2.Manifest) *v1beta2.Manifest {
	manifest := asPlanned(existing)
	manifest.Annotations[shared.AnnotationIsUnmanaged] = shared.ValueTrue
	return manifest
}

// asPlanned returns the part of a Manifest that plans set, from the existing Manifest. The caller may change the
// result.
func asPlanned(existing *v1beta2.Manifest) *v1beta2.Manifest {
	return &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name:            existing.Name,
			Namespace:       existing.Namespace,
			OwnerReferences: existing.OwnerReferences,
			Labels:          lists.Keep(existing.Labels, planned.Labels()),
			Annotations:     lists.Keep(existing.Annotations, planned.Annotations()),
		},
		Spec: *existing.Spec.DeepCopy(),
	}
}

// Differs reports whether a Manifest differs from the wanted one. Labels, annotations and fields of others do not
// count.
func Differs(existing, wanted *v1beta2.Manifest) bool {
	return !maps.Equal(lists.Keep(existing.Labels, planned.Labels()), lists.Keep(wanted.Labels, planned.Labels())) ||
		!maps.Equal(lists.Keep(existing.Annotations, planned.Annotations()), lists.Keep(wanted.Annotations, planned.Annotations())) ||
		!sameOwner(existing, wanted) ||
		!sameSpec(existing.Spec, wanted.Spec)
}

// keepForm copies the repositories of the existing Manifest to the wanted one if the specs are otherwise equal. Older
// builds wrote the repositories in another form (descriptor.FromManifest). Writing a Manifest only to change the form
// would install its module again.
func keepForm(existing, wanted *v1beta2.Manifest) {
	if desired.IsEdited(existing) || !sameSpec(located(existing), located(wanted)) {
		return
	}
	before := imagesOf(&existing.Spec)
	for i, image := range imagesOf(&wanted.Spec) {
		image.Repo = before[i].Repo
	}
	wanted.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(wanted.Spec)
}

// located returns the spec of a Manifest with the full repositories of its layers.
func located(m *v1beta2.Manifest) v1beta2.ManifestSpec {
	spec := m.Spec
	if spec.Config != nil {
		spec.Config = spec.Config.DeepCopy()
	}
	for _, image := range imagesOf(&spec) {
		image.Repo = descriptor.FromManifest(image.Repo, image.Name, m.ComponentName())
	}
	return spec
}

// imagesOf returns the layers in a spec.
func imagesOf(spec *v1beta2.ManifestSpec) []*v1beta2.ImageSpec {
	images := []*v1beta2.ImageSpec{&spec.Install.Source}
	if spec.Config != nil {
		images = append(images, spec.Config)
	}
	return images
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

// sameJSON compares two objects regardless of the order of their fields; null is the same as a missing object.
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

// templateRef returns the reference to a ModuleTemplate for a status.
func templateRef(template *v1beta2.ModuleTemplate) *v1beta2.TrackedObject {
	return &v1beta2.TrackedObject{
		APIVersion: v1beta2.GroupVersion.String(),
		Kind:       shared.KindModuleTemplate,
		Metadata: v1beta2.TrackedMeta{
			Name: template.Name, Namespace: template.Namespace, Generation: template.Generation,
		},
	}
}

// Describe names a Manifest in messages.
func Describe(manifest *v1beta2.Manifest) string {
	return fmt.Sprintf("%s %s/%s", shared.KindOfInstallation(manifest.Name), manifest.Namespace, manifest.Name)
}
