// Package storedversions migrates all objects of our kinds to the present storage version, so that a later release may
// drop an older version.
//
// An object stays in the version that it was last written in, even if the storage version of its
// CustomResourceDefinition changes. The API server therefore records in status.storedVersions in which versions objects
// may be stored, and refuses a definition without one of these versions. It never shortens that list; whoever has
// rewritten all objects must do that.
//
//	definition.go  the stored versions of a CustomResourceDefinition
//	rights.go      the rights that an account needs
//	migrator.go    rewrites the objects of a kind, and then shortens the list
//	leader.go      migrates in the leader, if its account has the rights
//
// `lifecycle-manager crds migrate` does the same for an administrator (cmd/internal/definitions).
package storedversions

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

var (
	// ErrMissing is wrapped by the error for a CustomResourceDefinition that is not installed.
	ErrMissing = errors.New("not installed")
	// ErrChanged is wrapped by the error for a CustomResourceDefinition that changed while objects were rewritten. Some
	// of them may have been written in another version again.
	ErrChanged = errors.New("changed during the migration, run it again")
)

// Definition records the versions that objects of a CustomResourceDefinition are stored in.
type Definition struct {
	// Name is the name of the definition, such as kymas.operator.kyma-project.io.
	Name string
	// ResourceVersion is the version that was read.
	ResourceVersion string
	// Resource is the plural name of the kind, and Kind the kind in the present storage version.
	Resource string
	Kind     schema.GroupVersionKind
	// Older holds the other versions in which objects may be stored.
	Older []string
}

// Migrated reports whether all objects are stored in the present storage version.
func (d Definition) Migrated() bool { return len(d.Older) == 0 }

// definitionOf fails if the storage version is not served, because objects could not be rewritten in it.
func definitionOf(crd *apiextensionsv1.CustomResourceDefinition) (Definition, error) {
	d := Definition{Name: crd.Name, ResourceVersion: crd.ResourceVersion, Resource: crd.Spec.Names.Plural}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			d.Kind = schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if !version.Served {
				return d, fmt.Errorf("CustomResourceDefinition %s does not serve %s, its storage version", crd.Name, version.Name)
			}
		}
	}
	d.Older = append(d.Older, lists.Filter(crd.Status.StoredVersions, func(stored string) bool { return stored != d.Kind.Version })...)
	slices.Sort(d.Older)
	return d, nil
}
