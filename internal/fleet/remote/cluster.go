// Package remote is the remote cluster of a Kyma as one synchronization sees it, and how objects are read and written there
// so that any later change of their spec shows in their metadata (Apply, IsUnchanged). It decides nothing.
package remote

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Cluster is the remote cluster of a Kyma, as one activity sees it.
type Cluster struct {
	client.Client
	// UID identifies the cluster: the UID of its namespace kube-system.
	UID types.UID
	// Own is true when the cluster is the control plane itself.
	Own bool
	// Writes counts the requests that changed something.
	Writes int
}

// FieldOwner is the field owner of what is written into a remote cluster beside the catalog.
func FieldOwner() client.FieldOwner { return client.FieldOwner(shared.FieldManagerRemoteKyma) }
