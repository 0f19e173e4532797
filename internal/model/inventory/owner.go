package inventory

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Owner distinguishes a Manifest's objects from the objects of others.
type Owner struct {
	// Name is the value of the label app.kubernetes.io/component.
	Name string
	// Mark is the value of the annotation owned-by: namespace/name.
	Mark string
	// Run identifies the run of the Manifest's hooks, see runOf.
	Run string
	// previous are the marks of Manifests whose objects this Manifest took over (package manifests, sharing.go).
	previous []string
}

// OwnerOf returns the Owner for a Manifest.
func OwnerOf(m *v1beta2.Manifest) Owner {
	return Owner{Name: m.Name, Mark: MarkOf(m), Run: runOf(m), previous: m.Status.TakenOverFrom}
}

// MarkOf returns the value of the ownership annotation on the objects of a Manifest: namespace/name.
func MarkOf(m *v1beta2.Manifest) string { return m.Namespace + "/" + m.Name }

// At returns the value of a placeholder in an encoded object.
func (o Owner) At(place string) string {
	switch place {
	case ManifestNamePlaceholder:
		return o.Name
	case RunPlaceholder:
		return o.Run
	default:
		return o.Mark
	}
}

// Owns reports whether a live object carries our ownership annotation. We may remove only objects that do.
func (o Owner) Owns(live metav1.Object) bool {
	mark := MarkOn(live)
	return mark == o.Mark || mark != "" && slices.Contains(o.previous, mark)
}

// IsKept reports whether an object has Helm's annotation that it must never be deleted with its release.
func IsKept(object metav1.Object) bool {
	return strings.EqualFold(strings.TrimSpace(object.GetAnnotations()[shared.AnnotationHelmPolicy]), shared.HelmKeep)
}

// MarkOn returns the ownership annotation of a live object. Before an object of upstream is applied again, it has
// upstream's annotation instead of ours.
func MarkOn(live metav1.Object) string {
	return cmp.Or(live.GetAnnotations()[shared.AnnotationOwnedBy], live.GetAnnotations()[shared.AnnotationOwnedByUpstream])
}

// Selector selects our objects by label. An object that lost its label is found only by its name.
func (o Owner) Selector() string { return SelectorOf(o.Name) }

// SelectorOf selects the objects of several Manifests, by the names of the Manifests.
func SelectorOf(manifests ...string) string {
	return shared.LabelManagedBy + "=" + shared.ManagedByKyma + "," + shared.LabelComponent + " in (" + strings.Join(manifests, ",") + ")"
}

// Placeholders in an encoded object, which are replaced for each Manifest. The values need no JSON escapes: all are
// names of Kubernetes objects, or hexadecimal.
const (
	ManifestNamePlaceholder = "@@lifecycle-manager-manifest-name@@"
	OwnerPlaceholder        = "@@lifecycle-manager-owner@@"
	RunPlaceholder          = "@@lifecycle-manager-run@@"
)

// LayersRef identifies the layers that a Manifest installs.
func LayersRef(m *v1beta2.Manifest) string {
	ref := m.Spec.Install.Source.Ref
	if m.Spec.Config != nil {
		ref += "+" + m.Spec.Config.Ref
	}
	return ref
}

// NamespaceManager returns the field manager for namespaces that existed before the module.
func (o Owner) NamespaceManager() string { return shared.FieldManagerModuleResources + "/" + o.Name }

// runOf identifies the run of the hooks of a Manifest's layers, in a form that fits into an annotation.
func runOf(m *v1beta2.Manifest) string {
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(LayersRef(m)))
	return strconv.FormatUint(hash.Sum64(), 16)
}

// HookRan returns the value that an inventory entry records for a hook that ran for these layers, in this phase.
func HookRan(ref, phase string) string { return ref + " " + phase }
