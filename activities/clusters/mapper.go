package clusters

import "k8s.io/apimachinery/pkg/api/meta"

// Mapper maps kinds to resources.
type Mapper struct{ meta.RESTMapper }
