package catalog

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
)

// Lists holds the objects of a remote catalog by kind, without bodies. Kinds that the cluster does not serve are
// absent.
type Lists map[string][]metav1.PartialObjectMetadata

// Read lists the remote catalog without bodies, with one request per kind.
func Read(ctx context.Context, r client.Reader, namespace string) (Lists, error) {
	there := Lists{}
	for _, kind := range kinds() {
		list, err := remote.ListMetadata(ctx, r, remote.Kind(kind), client.InNamespace(namespace))
		switch {
		case remote.KindMissing(err):
		case err != nil:
			return nil, fmt.Errorf("read the remote catalog: %w", err)
		default:
			there[kind] = list
		}
	}
	return there, nil
}

// Reading is the result of reading a remote catalog.
type Reading struct {
	Lists Lists
	Err   error
}

// ReadEarly reads the remote catalog in the background. The caller must receive the result.
func ReadEarly(ctx context.Context, r client.Reader, namespace string) <-chan Reading {
	read := make(chan Reading, 1)
	go func() {
		there, err := Read(ctx, r, namespace)
		read <- Reading{there, err}
	}()
	return read
}

// kinds returns the kinds of the module catalog.
func kinds() []string {
	return []string{shared.KindModuleTemplate, shared.KindModuleReleaseMeta}
}
