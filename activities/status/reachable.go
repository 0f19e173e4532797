package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// setReachable records since when the remote cluster has not answered, and why.
func setReachable(status *v1beta2.KymaStatus, o observation) {
	if !o.view.Sync.Enabled {
		return
	}
	if status.Remote == nil && withoutAccess(o.in.Faults[fault.PartSync]) {
		// The place stays open until the Kyma is synchronized (desired.Placed).
		status.Remote = &v1beta2.RemoteStatus{Name: o.view.Sync.Name, Namespace: o.view.Sync.Namespace, Generation: o.view.Sync.Generation}
	}
	remote := status.Remote
	switch {
	case remote == nil:
	case withoutAccess(o.in.Faults[fault.PartSync]):
		if remote.Reachable == nil || *remote.Reachable || remote.Since == nil {
			remote.Since = new(seconds(o.now))
		}
		remote.Reachable, remote.Reason = new(false), o.in.Faults[fault.PartSync].Reason
	case o.in.Faults[fault.PartSync].IsZero() && (o.in.Synced || o.answered):
		if remote.Reachable != nil && !*remote.Reachable {
			remote.ReachableSince = new(seconds(o.now))
		}
		remote.Reachable, remote.Reason, remote.Since = new(true), "", nil
	}
}

// withoutAccess reports whether a fault means that nothing is known about the remote cluster: the cluster does not
// answer, or its access cannot be used.
func withoutAccess(f fault.Fault) bool {
	return f.Kind == fault.Unreachable ||
		f.Reason == clusters.ReasonAccessSecretAmbiguous || f.Reason == clusters.ReasonKubeconfigRejected ||
		f.Reason == clusters.ReasonControlPlaneAccess
}

// outOfReach returns since when nothing is known about the remote cluster. It returns false if the cluster is reachable.
func outOfReach(remote *v1beta2.RemoteStatus, o observation) (metav1.Time, bool) {
	if remote == nil || !o.view.Sync.Enabled || remote.Reachable == nil || *remote.Reachable || remote.Since == nil {
		return metav1.Time{}, false
	}
	return *remote.Since, true
}

// markStale shows modules in an unreachable cluster as Error, so that people who watch the states notice. The message
// contains the last known state. A module under removal stays Deleting.
func markStale(modules []v1beta2.ModuleStatus, manifests []v1beta2.Manifest, since metav1.Time) {
	remote := map[string]bool{}
	for i := range manifests {
		remote[manifests[i].Name] = !desired.InControlPlane(&manifests[i])
	}
	for i := range modules {
		module := &modules[i]
		if module.Manifest == nil || !remote[module.Manifest.Metadata.Name] {
			continue
		}
		module.Message, module.Hint = shared.LastKnownState(module.State, since.Time), "" // the Kyma has the hint
		if module.State != shared.StateDeleting && module.State != shared.StateUnmanaged {
			module.State = shared.StateError
		}
	}
}
