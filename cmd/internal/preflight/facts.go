package preflight

import (
	"time"

	"go.temporal.io/api/workflowservice/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// Facts are the results of reading. An error beside a fact is why it could not be read.
type Facts struct {
	// APIServer is the version of the control plane's API server.
	APIServer    string
	APIServerErr error

	// Skew is how far this machine's clock is ahead of the API server's. It is accurate to about a second.
	Skew      time.Duration
	SkewKnown bool

	Settings SettingsFacts

	Rights []ReviewedRight

	// Kinds are the required kinds of other projects.
	Kinds []KindFacts

	Published    Published
	PublishedErr error

	Temporal TemporalFacts

	// Registry is nil if no registry is configured.
	Registry *RegistryFacts

	// Now is when the access Secrets were tried.
	Now       time.Time
	Access    []AccessFacts
	AccessErr error
}

// SettingsFacts describe where the settings come from.
type SettingsFacts struct {
	// Record is the namespace and name of the record with the settings; empty if only the flags are used.
	Record string
	// Err is why the record could not be read or used.
	Err error
}

// ReviewedRight is a required right, and whether the account has it.
type ReviewedRight struct {
	Asked   authorizationv1.ResourceAttributes
	Why     string
	Allowed bool
	Err     error
}

// TemporalFacts are Temporal's answers.
type TemporalFacts struct {
	Address, Namespace string
	// Err is why Temporal could not be asked.
	Err error

	Cluster    *workflowservice.GetClusterInfoResponse
	ClusterErr error

	described describedNamespace

	// MissingAttributes are search attributes to register. WrongAttributes have another type.
	MissingAttributes, WrongAttributes []string
	AttributesErr                      error

	// Owner is the owner of the namespace, nil if it has none yet. Own is this instance.
	Owner      *Owner
	OwnerSince time.Time
	OwnerErr   error
	Own        Owner
}

// RegistryFacts are the registry's answers.
type RegistryFacts struct {
	Host string
	// Credentials is the Secret with the credentials; empty for none.
	Credentials string
	Err         error
	// Refused is true if the registry answered and rejected the credentials.
	Refused bool
}

// AccessFacts are the result of a request to a remote cluster with its access Secret.
type AccessFacts struct {
	// Secret is the namespace and name of the Secret, and Kyma the name of its Kyma.
	Secret, Kyma string
	// Validity is how long the credentials are valid, if that could be read.
	Validity clusters.Validity
	Err      error
}
