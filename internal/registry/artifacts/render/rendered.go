package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Release is what the templates of a chart see of its installation.
type Release struct {
	// Name is the module's name. Namespace is the remote namespace (docs/contract.md#namespaces-and-defaults).
	Name, Namespace string
}

// Rendered holds the objects of a module.
type Rendered struct {
	// Objects are in the order of the source. They belong to the caller.
	Objects []*unstructured.Unstructured
	// Hooks are the chart's hooks for installation and upgrade, in the order in which they run.
	Hooks []Hook
	// LeftOut names the chart's tests and other hooks that never run, as "Kind name".
	LeftOut []string
}
