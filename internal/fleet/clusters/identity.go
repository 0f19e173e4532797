package clusters

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonClusterChanged: the access leads to another cluster than the one that the work was decided for (kind Rejected).
const ReasonClusterChanged = "ClusterChanged"

// ReasonControlPlaneAccess: the access leads to the control plane's own cluster, which is not allowed (kind Rejected).
const ReasonControlPlaneAccess = "ControlPlaneAccess"

// Identify asks the cluster which one it is, and remembers the answer for UID. A cluster is identified by the uid of
// its namespace kube-system.
func (c *Cluster) Identify(ctx context.Context) (types.UID, error) {
	uid, err := UIDOf(ctx, c.Client)
	if err != nil {
		return "", otherAnswer(err)
	}
	c.uid.Store(&uid)
	return uid, nil
}

// UID says which cluster this is, as it said last. The cluster is asked only where it never was with this access,
// so that all steps with one access share one request.
func (c *Cluster) UID(ctx context.Context) (types.UID, error) {
	if known := c.uid.Load(); known != nil {
		return *known, nil
	}
	return c.Identify(ctx)
}

// UIDOf asks a cluster which one it is: for the uid of its namespace kube-system.
func UIDOf(ctx context.Context, reader client.Reader) (types.UID, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: shared.NamespaceKubeSystem}, namespace); err != nil {
		return "", fmt.Errorf("read namespace %s: %w", shared.NamespaceKubeSystem, err)
	}
	if namespace.UID == "" {
		return "", fmt.Errorf("namespace %s has no uid", shared.NamespaceKubeSystem)
	}
	return namespace.UID, nil
}

// IsControlPlane is the fault of work for a Kyma, named for people, whose access Secret leads to the control plane's own
// cluster where that is not allowed: modules would be installed there, and a second Kyma made.
func IsControlPlane(kyma string) error {
	return fault.New(fault.Rejected, ReasonControlPlaneAccess,
		"the access Secret of Kyma %s leads to the control plane itself, which is not allowed here: give it the kubeconfig of the remote cluster", kyma)
}

// Changed is the fault of work for a Kyma, named for people, whose access leads to the cluster at, where what it has
// is in the recorded one. It is nil where both are the same, or nothing is recorded. Nothing may be written to, nor
// concluded from what is not found in, a cluster for which this is no nil.
func Changed(kyma, recorded string, at types.UID, deleting bool) error {
	if recorded == "" || recorded == string(at) {
		return nil
	}
	advice := "if the cluster was replaced on purpose, the next synchronization takes the new one in"
	if deleting {
		advice = "if the cluster is gone for good, purge the Kyma"
	}
	return fault.New(fault.Rejected, ReasonClusterChanged,
		"the access of Kyma %s leads to cluster %s, but what the Kyma has is in cluster %s, so nothing is done there: give back the access to that one; %s",
		kyma, at, recorded, advice)
}
