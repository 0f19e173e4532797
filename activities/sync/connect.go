package sync

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Reasons of faults of this package.
const (
	// ReasonOntoItself: the remote Kyma would be the Kyma itself.
	ReasonOntoItself = "SyncOntoItself"
	// ReasonRemoteKymaClaimed: the remote Kyma belongs to another Kyma, or is an original.
	ReasonRemoteKymaClaimed = "RemoteKymaClaimed"
	// ReasonRemoteKymaInvalid: what the remote Kyma asks for cannot be accepted.
	ReasonRemoteKymaInvalid = "RemoteKymaInvalid"
	// ReasonRemoteKymaDeleting: the remote Kyma is being deleted and held by finalizers.
	ReasonRemoteKymaDeleting = "RemoteKymaDeleting"
	// ReasonDefinition: a CustomResourceDefinition could not be brought.
	ReasonDefinition = "DefinitionNotSynced"
	// ReasonCatalog: objects of the catalog could not be brought.
	ReasonCatalog = "CatalogNotSynced"
	// ReasonCatalogGoesOn: the catalog is so large that it is brought in several looks (kind Pending).
	ReasonCatalogGoesOn = "CatalogGoesOn"
	// ReasonRemoteTemplate: a template made by hand in the remote cluster could not be taken in.
	ReasonRemoteTemplate = "RemoteTemplateNotTakenIn"
	// ReasonManifestsLeft: the remote cluster is cleaned up only after all Manifests are gone.
	ReasonManifestsLeft = "ManifestsLeft"
)

// remote is the remote cluster of a Kyma, as one activity sees it.
type remote struct {
	client.Client
	// identify asks which cluster this is.
	identify func(context.Context) (types.UID, error)
	// uid identifies the cluster: the UID of its namespace kube-system.
	uid types.UID
	// cluster is nil where the control plane's own is reached without a kubeconfig.
	cluster *clusters.Cluster
	// recognized is the remote Kyma where the cluster was recognized by it; see recognize.
	recognized *v1beta2.Kyma
	// own is true when the cluster is the control plane itself.
	own bool
	// writes counts the requests that changed something.
	writes int
	// force is set when the Kyma is purged.
	force *forcing
}

// connect gives access to the Kyma's cluster and finds out which one it is. In the background it may be recognized.
func (a *Activities) connect(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, background bool) (*remote, error) {
	r, err := a.reach(ctx, kyma, s, a.clusters.ForKyma)
	if err != nil {
		return nil, err
	}
	identify := r.identify
	if background && r.isPrepared(kyma) {
		if err := r.recognize(ctx, kyma, s); err != nil {
			return nil, clusters.Classify(err)
		}
		if r.recognized != nil {
			identify = func(context.Context) (types.UID, error) { return types.UID(kyma.Status.Remote.Cluster), nil }
		}
	}
	if r.uid, err = identify(ctx); err != nil {
		return nil, clusters.Classify(fmt.Errorf("identify the cluster of Kyma %s: %w", nameOf(kyma), err))
	}
	control, err := a.identity.get(ctx)
	if err != nil {
		return nil, err
	}
	r.own = r.uid == control
	if r.own && s.Strategy != v1beta2.SyncStrategyLocalClient && kyma.DeletionTimestamp.IsZero() && !a.settings.LocalClientAllowed() {
		return nil, clusters.IsControlPlane(nameOf(kyma))
	}
	if !kyma.DeletionTimestamp.IsZero() && desired.Placed(kyma) {
		// What is to be cleaned up is in the recorded cluster. Another one would look as if it were clean already.
		if err := clusters.Changed(nameOf(kyma), kyma.Status.Remote.Cluster, r.uid, true); err != nil {
			return nil, err
		}
	}
	if err := notOntoItself(kyma, s.Name, s.Namespace, r.own); err != nil {
		return nil, err
	}
	return r, nil
}

// accessTo gives access to the cluster of a Kyma: Clusters.ForKyma or Clusters.Reach.
type accessTo func(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)

// reach gives access without asking which cluster it is.
func (a *Activities) reach(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, to accessTo) (*remote, error) {
	if kyma.DeletionTimestamp.IsZero() && s.LocalClientRefused(a.settings) {
		return nil, fault.New(fault.Rejected, resolve.ReasonControlPlaneTarget,
			"Kyma %s would be synchronized into the control plane itself by the strategy local-client, which is not allowed here", nameOf(kyma))
	}
	if s.Strategy == v1beta2.SyncStrategyLocalClient {
		return &remote{Client: a.controlPlane, identify: a.identity.get}, nil
	}
	cluster, err := to(ctx, kyma.Namespace, kyma.Name)
	if err != nil {
		return nil, err
	}
	return &remote{Client: cluster.Client, identify: cluster.Identify, cluster: cluster}, nil
}

// identity is the UID of the control plane's own cluster, read once.
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

// remoteOwner is the field owner of what is written into a remote cluster beside the catalog.
func remoteOwner() client.FieldOwner { return client.FieldOwner(shared.FieldManagerRemoteKyma) }

func metadataOf(gvk groupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}

func nameOf(object client.Object) string { return object.GetNamespace() + "/" + object.GetName() }
