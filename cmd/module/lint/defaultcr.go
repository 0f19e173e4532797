package lint

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
)

// checkDefaultCR checks the default custom resource and returns it as JSON, without a status.
func checkDefaultCR(known kinds, module Module, report *Report) []byte {
	if module.Content.DefaultCR == nil {
		return nil
	}
	file := module.Content.DefaultCR.Path
	parsed := parseDocuments(file, module.Content.DefaultCR.Data, report)
	if len(parsed) != 1 {
		report.fail(file, "", "has %d objects; it must have exactly one, the default custom resource", len(parsed))
		return nil
	}
	resource := parsed[0]
	if resource.GetAPIVersion() == "" || resource.GetKind() == "" {
		report.fail(file, resource.where(), "has no apiVersion or no kind")
		return nil
	}
	if why := reservedWhy(resource); why != "" {
		report.fail(file, resource.where(), "must not be part of a module: %s", why)
		return nil
	}
	if resource.GetName() == "" {
		report.warn(file, resource.where(), "has no name: it gets the name of the Manifest, which differs from Kyma to Kyma")
	}
	if _, found := resource.Object["status"]; found {
		report.warn(file, resource.where(), "has a status, which is dropped: the module's operator writes it")
		unstructured.RemoveNestedField(resource.Object, "status")
	}
	if warnOfOwners(resource, report) {
		unstructured.RemoveNestedField(resource.Object, "metadata", "ownerReferences")
	}
	checkDefinition(known, resource, module.Config, report)
	data, err := resource.MarshalJSON()
	if err != nil {
		report.fail(file, resource.where(), "cannot be written as JSON: %v", err)
		return nil
	}
	return data
}

// checkDefinition compares the default custom resource with the definition of its kind. The module must contain this
// definition.
func checkDefinition(known kinds, resource object, module config.Module, report *Report) {
	kind := resource.GroupVersionKind()
	found, ok := known.defined[kind.GroupKind()]
	switch {
	case !ok:
		report.fail(resource.file, resource.where(), "the module has no CustomResourceDefinition for %s", kind.GroupKind())
	case !found.served[kind.Version]:
		report.fail(resource.file, resource.where(), "the module's CustomResourceDefinition for %s does not serve version %s", kind.GroupKind(), kind.Version)
	case found.namespaced && module.ClusterScoped:
		report.fail(module.File(), "clusterScoped", "%s is namespaced by its CustomResourceDefinition", kind.GroupKind())
	case !found.namespaced && !module.ClusterScoped:
		report.fail(module.File(), "clusterScoped", "must be true: %s is cluster-scoped by its CustomResourceDefinition", kind.GroupKind())
	default:
		if !found.namespaced && resource.GetNamespace() != "" {
			report.warn(resource.file, resource.where(), "%s", clusterScopedText)
		}
		known.custom.check(resource, report)
	}
}

// saysClusterScoped reports whether the definition of the default custom resource's kind is cluster-scoped.
func (k kinds) saysClusterScoped(resource *layers.File) bool {
	if resource == nil {
		return false
	}
	for _, item := range parseDocuments(resource.Path, resource.Data, &Report{}) {
		found, ok := k.defined[item.GroupVersionKind().GroupKind()]
		return ok && !found.namespaced
	}
	return false
}
