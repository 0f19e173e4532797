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

// session is what one activity of a synchronization knows of a remote cluster, beside what remote.Cluster has.
type session struct {
	*remote.Cluster
	// identify asks which cluster this is.
	identify func(context.Context) (types.UID, error)
	// access is nil where the control plane's own cluster is reached without a kubeconfig.
	access *clusters.Cluster
	// recognized is the remote Kyma where the cluster was recognized by it; see recognize.
	recognized *v1beta2.Kyma
	// force is set when the Kyma is purged.
	force *forcing
}

// forcing is set on a remote cluster whose Kyma is purged.
type forcing struct {
	kyma   kick.Ref
	purges Purges
	rules  purge.Rules
	forced []string
}

// names are those of what was forced.
func (f *forcing) names() []string {
	if f == nil {
		return nil
	}
	return f.forced
}
