// Package storedversions has all objects of our kinds stored in the version that is written today, so that a later
// release may drop an older one. An object stays as it was last written, whatever the definition of its kind has become
// since. So the API server notes in status.storedVersions of a CustomResourceDefinition in which versions objects may be
// stored, and refuses a definition without one of these. It takes none off that list: who has rewritten all objects does.
//
//	definition.go  what a CustomResourceDefinition says of it
//	rights.go      what an account needs
//	migrator.go    rewrites the objects of a kind, and then shortens the list
//	leader.go      does so in the process that leads, where its account may
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
	ErrMissing = errors.New("it is not installed")
	// ErrChanged is wrapped by the error for a CustomResourceDefinition that was changed while objects were rewritten: they
	// may have been written in another version again.
	ErrChanged = errors.New("it was changed meanwhile")
)

// Definition is what a CustomResourceDefinition says about the versions that objects of its kind are stored in.
type Definition struct {
	// Name is its own, such as kymas.operator.kyma-project.io.
	Name string
	// ResourceVersion is the one that was read.
	ResourceVersion string
	// Resource is the plural name of the kind, and Kind the kind in the version that is written today.
	Resource string
	Kind     schema.GroupVersionKind
	// Older are the other versions in which objects may be stored.
	Older []string
}

// Migrated tells whether all objects are stored in the version that is written today.
func (d Definition) Migrated() bool { return len(d.Older) == 0 }

// definitionOf fails where the version that is written is not served: objects could not be rewritten in it.
func definitionOf(crd *apiextensionsv1.CustomResourceDefinition) (Definition, error) {
	d := Definition{Name: crd.Name, ResourceVersion: crd.ResourceVersion, Resource: crd.Spec.Names.Plural}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			d.Kind = schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if !version.Served {
				return d, fmt.Errorf("CustomResourceDefinition %s does not serve %s, in which it stores objects", crd.Name, version.Name)
			}
		}
	}
	d.Older = append(d.Older, lists.Filter(crd.Status.StoredVersions, func(stored string) bool { return stored != d.Kind.Version })...)
	slices.Sort(d.Older)
	return d, nil
}
