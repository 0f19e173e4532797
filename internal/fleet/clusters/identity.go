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

// ReasonClusterChanged: the access does not lead to the cluster that the work was planned for (kind Rejected).
const ReasonClusterChanged = "ClusterChanged"

// ReasonControlPlaneAccess: the access leads to the control plane's own cluster, which is not allowed (kind Rejected).
const ReasonControlPlaneAccess = "ControlPlaneAccess"

// Identify reads the cluster's uid and stores it for UID. The uid of a cluster is the uid of its namespace kube-system.
func (c *Cluster) Identify(ctx context.Context) (types.UID, error) {
	uid, err := UIDOf(ctx, c.Client)
	if err != nil {
		return "", otherAnswer(err)
	}
	c.uid.Store(&uid)
	return uid, nil
}

// UID returns the last known uid of the cluster. It asks the cluster only once per access, so that all steps with one
// access share one request.
func (c *Cluster) UID(ctx context.Context) (types.UID, error) {
	if known := c.uid.Load(); known != nil {
		return *known, nil
	}
	return c.Identify(ctx)
}

// UIDOf reads the uid of a cluster: the uid of its namespace kube-system.
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

// IsControlPlane returns the fault for a Kyma with an access Secret that leads to the control plane's own cluster, if
// that is not allowed. Otherwise modules would be installed there, and a second Kyma created. The argument names the
// Kyma for people.
func IsControlPlane(kyma string) error {
	return fault.New(fault.Rejected, ReasonControlPlaneAccess,
		"the access Secret of Kyma %s leads to the control plane itself, which is not allowed here: put the kubeconfig of the remote cluster into it", kyma)
}

// Changed returns a fault if the access of a Kyma leads to another cluster than the recorded one, which has the Kyma's
// modules. It returns nil if both are the same, or nothing is recorded. If it returns a fault, callers must neither
// write to the cluster nor conclude anything from a missing object. The argument kyma names the Kyma for people.
func Changed(kyma, recorded string, at types.UID, deleting bool) error {
	if recorded == "" || recorded == string(at) {
		return nil
	}
	advice := "if the cluster was replaced on purpose, the next synchronization records the new one"
	if deleting {
		advice = "if the cluster is gone permanently, purge the Kyma"
	}
	return fault.New(fault.Rejected, ReasonClusterChanged,
		"the access Secret of Kyma %s leads to cluster %s, but the Kyma's modules are in cluster %s, so nothing is done: restore the access to that cluster; %s",
		kyma, at, recorded, advice)
}
