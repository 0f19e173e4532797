package sync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// session is the state of one synchronization activity for a remote cluster, in addition to remote.Cluster.
type session struct {
	*remote.Cluster
	// identify returns the UID of the cluster.
	identify func(context.Context) (types.UID, error)
	// access is nil if the cluster is the control plane's own and is accessed without a kubeconfig.
	access *clusters.Cluster
	// recognized is the remote Kyma if it identified the cluster. See recognize.
	recognized *v1beta2.Kyma
	// force is set if the Kyma is purged.
	force *forcing
}

// forcing records the forced objects of a purged Kyma in its remote cluster.
type forcing struct {
	kyma   kick.Ref
	purges Purges
	rules  purge.Rules
	forced []string
}

// names returns the names of the forced objects.
func (f *forcing) names() []string {
	if f == nil {
		return nil
	}
	return f.forced
}
