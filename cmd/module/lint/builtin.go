package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// builtin knows Kubernetes' own kinds, as of the client-go version that this program is built with.
type builtin struct {
	scheme *runtime.Scheme
	// decoder refuses unknown fields, and field names in the wrong case.
	decoder runtime.Decoder
	// merging knows the keys of lists, for the kinds in core.
	merging       managedfields.TypeConverter
	core          *runtime.Scheme
	clusterScoped sets.Set[schema.GroupKind]
	kubernetes    *semver.Version
	fields        *fields
}

// newBuiltin returns a checker that applies the rules of the given Kubernetes version.
func newBuiltin(kubeVersion string) (*builtin, error) {
	version, err := semver.NewVersion(kubeVersion)
	if err != nil {
		return nil, fmt.Errorf("kubernetes version %q: %w", kubeVersion, err)
	}
	core, all := runtime.NewScheme(), runtime.NewScheme()
	for _, add := range []func() error{
		func() error { return clientgoscheme.AddToScheme(core) },
		func() error { return clientgoscheme.AddToScheme(all) },
		func() error { return apiextensionsv1.AddToScheme(all) },
		func() error { return apiregistrationv1.AddToScheme(all) },
	} {
		if err := add(); err != nil {
			return nil, fmt.Errorf("collect the kinds of Kubernetes: %w", err)
		}
	}
	return &builtin{
		scheme: all, core: core, kubernetes: version, clusterScoped: clusterScopedKinds(), fields: &fields{},
		decoder: json.NewSerializerWithOptions(json.DefaultMetaFactory, all, all, json.SerializerOptions{Strict: true}),
		merging: applyconfigurations.NewTypeConverter(core),
	}, nil
}

// clusterScopedKinds returns Kubernetes' kinds without a namespace. The Go types do not record it.
func clusterScopedKinds() sets.Set[schema.GroupKind] {
	found := sets.New[schema.GroupKind]()
	for group, kinds := range map[string][]string{
		"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
		"admissionregistration.k8s.io": {
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
		},
		"apiextensions.k8s.io":         {"CustomResourceDefinition"},
		"apiregistration.k8s.io":       {"APIService"},
		"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
		"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
		"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
		"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
		"internal.apiserver.k8s.io":    {"StorageVersion"},
		"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
		"node.k8s.io":                  {"RuntimeClass"},
		"policy":                       {"PodSecurityPolicy"},
		"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
		"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
		"scheduling.k8s.io":            {"PriorityClass"},
		"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
		"storagemigration.k8s.io":      {"StorageVersionMigration"},
	} {
		for _, kind := range kinds {
			found.Insert(schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return found
}

// scope reports whether a kind is namespaced. known is false if it is not a Kubernetes kind.
func (b *builtin) scope(kind schema.GroupKind) (namespaced, known bool) {
	if len(b.versions(kind)) == 0 {
		return false, false
	}
	return !b.clusterScoped.Has(kind), true
}

// versions returns all versions that the kind has or had, the preferred one first.
func (b *builtin) versions(kind schema.GroupKind) []string {
	var versions []string
	for _, version := range b.scheme.PrioritizedVersionsForGroup(kind.Group) {
		if b.scheme.Recognizes(version.WithKind(kind.Kind)) {
			versions = append(versions, version.Version)
		}
	}
	return versions
}

// check reports what an API server would refuse in an object of a Kubernetes kind.
func (b *builtin) check(item object, report *Report) {
	kind := item.GroupVersionKind()
	versions := b.versions(kind.GroupKind())
	if len(versions) == 0 {
		return
	}
	if !slices.Contains(versions, kind.Version) {
		report.fail(item.file, item.where(), "Kubernetes has %s in %s, not in %s", kind.GroupKind(), strings.Join(versions, ", "), kind.Version)
		return
	}
	raw, err := item.MarshalJSON()
	if err != nil {
		report.fail(item.file, item.where(), "cannot be written as JSON: %v", err)
		return
	}
	typed, _, err := b.decoder.Decode(raw, &kind, nil)
	if strict, isStrict := runtime.AsStrictDecodingError(err); isStrict {
		for _, problem := range strict.Errors() {
			report.fail(item.file, item.where(), "%v", problem)
		}
		return
	}
	if err != nil {
		report.fail(item.file, item.where(), "%v", withoutPrefix(err))
		return
	}
	b.checkServed(item, typed, report)
	if !b.fields.check(item, typed, report) || !b.core.Recognizes(kind) {
		return
	}
	if _, err := b.merging.ObjectToTyped(item.Unstructured); err != nil {
		report.fail(item.file, item.where(), "%v", withoutPrefix(err))
	}
}

// withoutPrefix returns the innermost error, which names the field. The outer errors only add function names.
func withoutPrefix(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// checkServed reports an error if the Kubernetes version does not serve the version of the kind.
func (b *builtin) checkServed(item object, typed runtime.Object, report *Report) {
	minor := func(major, minor int) *semver.Version {
		return semver.New(uint64(max(major, 0)), uint64(max(minor, 0)), 0, "", "")
	}
	if lived, ok := typed.(interface{ APILifecycleRemoved() (int, int) }); ok {
		if gone := minor(lived.APILifecycleRemoved()); !b.kubernetes.LessThan(gone) {
			instead := ""
			if follows, ok := typed.(interface {
				APILifecycleReplacement() schema.GroupVersionKind
			}); ok {
				instead = "; use " + follows.APILifecycleReplacement().GroupVersion().String() + " instead"
			}
			report.fail(item.file, item.where(), "%s is not served by Kubernetes %d.%d and later%s", item.GetAPIVersion(), gone.Major(), gone.Minor(), instead)
		}
	}
	if born, ok := typed.(interface{ APILifecycleIntroduced() (int, int) }); ok {
		if since := minor(born.APILifecycleIntroduced()); b.kubernetes.LessThan(since) {
			report.fail(item.file, item.where(), "%s %s is not served by Kubernetes before %d.%d, but was checked for %s",
				item.GetAPIVersion(), item.GetKind(), since.Major(), since.Minor(), b.kubernetes.Original())
		}
	}
}
