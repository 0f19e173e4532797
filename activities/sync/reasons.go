package sync

// Reasons of faults of this package.
const (
	// ReasonOntoItself: the remote Kyma would be the Kyma itself.
	ReasonOntoItself = "SyncOntoItself"
	// ReasonRemoteKymaOwned: the remote Kyma belongs to another Kyma, or is not a copy.
	ReasonRemoteKymaOwned = "RemoteKymaClaimed"
	// ReasonRemoteKymaInvalid: the remote Kyma is invalid and was not accepted.
	ReasonRemoteKymaInvalid = "RemoteKymaInvalid"
	// ReasonRemoteKymaDeleting: the remote Kyma is being deleted and waits for finalizers.
	ReasonRemoteKymaDeleting = "RemoteKymaDeleting"
	// ReasonManifestsRemaining: the remote cluster is not cleaned up before all Manifests are gone.
	ReasonManifestsRemaining = "ManifestsRemaining"
	// ReasonMove: the remote Kyma could not be moved.
	ReasonMove = "RemoteKymaNotMoved"
	// ReasonPullSecret: the image pull Secret could not be written.
	ReasonPullSecret = "ImagePullSecretNotSynced"
)
