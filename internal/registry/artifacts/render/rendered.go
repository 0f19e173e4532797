package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Release is what a chart may know of its installation.
type Release struct {
	// Name is the module's name, Namespace the remote namespace (docs/contract.md#namespaces-and-defaults).
	Name, Namespace string
}

// Rendered is what a source comes to.
type Rendered struct {
	// Objects in the order of the source. They belong to the caller.
	Objects []*unstructured.Unstructured
	// Hooks are a chart's hooks of installation and upgrade, in the order in which they run.
	Hooks []Hook
	// LeftOut are the chart's tests and other hooks that are never run, as "Kind name".
	LeftOut []string
}
