package preflight

import (
	"time"

	"go.temporal.io/api/workflowservice/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// Facts are what a check has read. An error beside a fact says why it could not be read.
type Facts struct {
	// APIServer is the version of the control plane's API server.
	APIServer    string
	APIServerErr error

	// Skew is how far this machine's clock is before the API server's; it is known to a second or so.
	Skew      time.Duration
	SkewKnown bool

	Settings SettingsFacts

	Rights []ReviewedRight

	// Kinds are those of others that are needed.
	Kinds []KindFacts

	Published    Published
	PublishedErr error

	Temporal TemporalFacts

	// Registry is nil where none is configured.
	Registry *RegistryFacts

	// Now is when the access Secrets were tried.
	Now       time.Time
	Access    []AccessFacts
	AccessErr error
}

// SettingsFacts say what the other facts are about.
type SettingsFacts struct {
	// Record is the namespace and name of the record that has the settings; empty if the flags alone count.
	Record string
	// Err is why the record could not be read, or not be used.
	Err error
}

// ReviewedRight is a right that is needed, and whether the account has it.
type ReviewedRight struct {
	Asked   authorizationv1.ResourceAttributes
	Why     string
	Allowed bool
	Err     error
}

// TemporalFacts are what Temporal said of itself.
type TemporalFacts struct {
	Address, Namespace string
	// Err is why nothing could be asked.
	Err error

	Cluster    *workflowservice.GetClusterInfoResponse
	ClusterErr error

	described describedNamespace

	// MissingAttributes are search attributes that have to be registered, WrongAttributes those of another type.
	MissingAttributes, WrongAttributes []string
	AttributesErr                      error

	// Owner is whose the namespace is, nil where it is nobody's yet; Own is who asks.
	Owner      *Owner
	OwnerSince time.Time
	OwnerErr   error
	Own        Owner
}

// RegistryFacts are what the registry said.
type RegistryFacts struct {
	Host string
	// Credentials says which Secret they are from; empty for none.
	Credentials string
	Err         error
	// Refused tells that the registry answered, and took the credentials for wrong.
	Refused bool
}

// AccessFacts are what a remote cluster said to its access Secret.
type AccessFacts struct {
	// Secret is the namespace and name of the Secret, Kyma that of the Kyma.
	Secret, Kyma string
	// Validity is for how long its credentials are valid, where it could be read.
	Validity clusters.Validity
	Err      error
}
