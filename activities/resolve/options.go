package resolve

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// DescriptorSource fetches component descriptors that are not embedded in a ModuleTemplate.
type DescriptorSource interface {
	// FetchDescriptor returns the descriptor of a component version as stored in the registry
	// (`<repository>/component-descriptors/<component>:<version>`). It returns a fault.Rejected error if a retry cannot
	// succeed without a change, for example if the descriptor is missing or unreadable. It caches.
	FetchDescriptor(ctx context.Context, repository, component, version string) ([]byte, error)
}

// ObjectSource fetches the only object in a layer, as JSON. *artifacts.Store implements it with a cache.
type ObjectSource interface {
	FetchObject(ctx context.Context, l artifacts.Layer) ([]byte, error)
}

// Windows reports whether the modules of a Kyma with these labels may be down now.
type Windows interface {
	Window(labels map[string]string) planning.Wait
}

// Signatures verifies descriptors. *signature.Verifier implements it.
type Signatures interface {
	// Verify returns an error that wraps signature.ErrSignature if the descriptor must not be used.
	Verify(ctx context.Context, raw []byte, templateLabels map[string]string) error
	// Required reports whether Verify refuses descriptors without a signature.
	Required() bool
	// Fingerprint returns a value that changes when descriptors must be verified again.
	Fingerprint(ctx context.Context) (string, error)
}

// EventRecorder records Events. A client-go record.EventRecorder implements it.
type EventRecorder = hint.Recorder

// Clusters gives access to the clusters of Kymas. *clusters.Registry implements it.
type Clusters interface {
	// ForKyma reads the access Secret live. It sends no request to the remote cluster. Its errors are fault.Errors.
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Agents returns the desired state of agents in remote clusters. *agents.Source implements it.
type Agents interface {
	// Spec returns the desired agent. If it is not known, the error is a fault that says why.
	Spec(ctx context.Context) (agent.Spec, error)
	// Certificate returns the version of the certificate of a Kyma's agent, without its content.
	Certificate(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error)
}

// Certificates removes the certificates of agents from the control plane.
type Certificates interface {
	Remove(ctx context.Context, kyma *v1beta2.Kyma) error
}

// Budget limits how many clusters lose modules, whatever the cause. *budget.Budget implements it.
type Budget interface {
	// Take counts a cluster that is about to lose modules, once per time window. It returns a fault if the cluster must
	// wait.
	Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error)
	// Approves reports whether somebody approved a change of the catalog. noted is true if the changed object carries the
	// approval.
	Approves(ctx context.Context, change string, noted bool) (bool, error)
	// Ensure creates the RemovalBudget, the object in which people approve changes.
	Ensure(ctx context.Context) error
}

// Limits bounds what one change of the catalog may remove at once.
type Limits struct {
	// Kymas is the maximum number of Kymas that a change may remove a module from without approval. Default: 10.
	Kymas int
	// Percent is the maximum share of this instance's Kymas, but always at least one Kyma. Default: 5.
	Percent int
	// PerMinute is how many such removals each process begins per minute. Default: 60.
	PerMinute int
}

// Options configures the activities.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads and writes the control plane without a cache.
	ControlPlane client.Client
	// Catalog reads ModuleTemplates, ModuleReleaseMetas and the metadata of Secrets from a cache. The cache must have the
	// indexes of desired.RegisterIndexes.
	Catalog client.Reader
	// Descriptors fetches descriptors that are not embedded.
	Descriptors DescriptorSource
	// Objects may be nil. Then default custom resources come only from templates, not from layers.
	Objects ObjectSource
	// Windows may be nil. Then no upgrade waits for a maintenance window.
	Windows Windows
	// Signatures may be nil. Then no descriptor is verified.
	Signatures Signatures
	// Fleet reads the Kymas and Manifests of this instance from a cache with the index of RegisterIndex.
	Fleet client.Reader
	// Known knows which Manifests and access Secrets exist. By default it lists them in the control plane.
	Known *fleet.Fleet
	// PullSecret is nil if no image pull Secret is configured.
	PullSecret desired.PullSecret
	// Clusters may be nil. Then a missing access Secret is never detected.
	Clusters Clusters
	// Agents and Certificates are nil if remote clusters have no agents.
	Agents       Agents
	Certificates Certificates
	// Budget may be nil. Then only Limits bounds removals, and held removals cannot be approved.
	Budget Budget
	// Limits bounds the removals that the catalog causes.
	Limits Limits
	// Events may be nil. Then no Event is recorded.
	Events EventRecorder
	// Refused may be nil. Then unplanned Manifests are not counted.
	Refused manifests.RefusalCounter
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}
