// Package remote represents the remote cluster of a Kyma during one synchronization. It writes objects so that later
// changes of their spec are visible in their metadata (Apply, IsUnchanged). It makes no decisions.
package remote

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Cluster is the remote cluster of a Kyma during one activity.
type Cluster struct {
	client.Client
	// UID identifies the cluster: it is the UID of its namespace kube-system.
	UID types.UID
	// Own is true if the cluster is the control plane itself.
	Own bool
	// Writes counts the requests that changed something.
	Writes int
}

// FieldOwner returns the field owner of everything in a remote cluster except for the catalog.
func FieldOwner() client.FieldOwner { return client.FieldOwner(shared.FieldManagerRemoteKyma) }
