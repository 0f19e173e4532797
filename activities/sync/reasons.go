package sync

// Reasons of faults of this package.
const (
	// ReasonOntoItself: the remote Kyma would be the Kyma itself.
	ReasonOntoItself = "SyncOntoItself"
	// ReasonRemoteKymaOwned: the remote Kyma belongs to another Kyma, or is an original.
	ReasonRemoteKymaOwned = "RemoteKymaClaimed"
	// ReasonRemoteKymaInvalid: what the remote Kyma asks for cannot be accepted.
	ReasonRemoteKymaInvalid = "RemoteKymaInvalid"
	// ReasonRemoteKymaDeleting: the remote Kyma is being deleted and held by finalizers.
	ReasonRemoteKymaDeleting = "RemoteKymaDeleting"
	// ReasonManifestsRemaining: the remote cluster is cleaned up only after all Manifests are gone.
	ReasonManifestsRemaining = "ManifestsRemaining"
	// ReasonMove: the remote Kyma could not be moved.
	ReasonMove = "RemoteKymaNotMoved"
	// ReasonPullSecret: the image pull Secret could not be brought.
	ReasonPullSecret = "ImagePullSecretNotSynced"
)
