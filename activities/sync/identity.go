package sync

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// identity reads the UID of the control plane's own cluster once.
type identity struct {
	reader client.Reader
	known  atomic.Pointer[types.UID]
}

func newIdentity(reader client.Reader) *identity { return &identity{reader: reader} }

func (i *identity) get(ctx context.Context) (types.UID, error) {
	if known := i.known.Load(); known != nil {
		return *known, nil
	}
	uid, err := clusters.UIDOf(ctx, i.reader)
	if err != nil {
		return "", fmt.Errorf("identify the control plane: %w", err)
	}
	i.known.Store(&uid)
	return uid, nil
}
