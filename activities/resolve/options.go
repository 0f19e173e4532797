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
	// FetchDescriptor returns the descriptor of a component version as it is stored in the registry
	// (`<repository>/component-descriptors/<component>:<version>`). What cannot succeed without a change
	// (not there, not readable) is a fault.Rejected error. It caches.
	FetchDescriptor(ctx context.Context, repository, component, version string) ([]byte, error)
}

// ObjectSource fetches the one object that is in a layer, as JSON. *artifacts.Store does, and caches.
type ObjectSource interface {
	FetchObject(ctx context.Context, l artifacts.Layer) ([]byte, error)
}

// Windows says whether the modules of a Kyma with these labels may be down now.
type Windows interface {
	Window(labels map[string]string) planning.Wait
}

// Signatures verifies descriptors; *signature.Verifier does.
type Signatures interface {
	// Verify says whether a descriptor may be used; a refusal wraps signature.ErrSignature.
	Verify(ctx context.Context, raw []byte, templateLabels map[string]string) error
	// Required reports whether Verify refuses descriptors without a signature.
	Required() bool
	// Fingerprint changes when descriptors are to be verified again.
	Fingerprint(ctx context.Context) (string, error)
}

// EventRecorder records what concerns more than one Kyma. A client-go record.EventRecorder is one.
type EventRecorder = hint.Recorder

// Clusters gives access to the clusters of Kymas; *clusters.Registry does.
type Clusters interface {
	// ForKyma reads the access Secret live, and makes no request to the remote cluster. Its errors are fault.Errors.
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Agents says what agents in remote clusters are to be; *agents.Source does.
type Agents interface {
	// Spec returns the desired agent. A fault says why it is not known.
	Spec(ctx context.Context) (agent.Spec, error)
	// Certificate is the version of the certificate of a Kyma's agent, without its content.
	Certificate(ctx context.Context, kyma *v1beta2.Kyma) (desired.SecretVersion, error)
}

// Certificates removes the certificates of agents from the control plane.
type Certificates interface {
	Remove(ctx context.Context, kyma *v1beta2.Kyma) error
}

// Budget bounds how many clusters lose modules, whatever causes it; *budget.Budget does.
type Budget interface {
	// Take counts a cluster that is about to lose modules, once within a window of time. The fault says why it must wait.
	Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error)
	// Approves reports whether somebody approved a change of the catalog; noted is true if the object that changed says so.
	Approves(ctx context.Context, change string, noted bool) (bool, error)
	// Ensure makes the object in which somebody can approve.
	Ensure(ctx context.Context) error
}

// Limits bound what one change of the catalog may remove at once.
type Limits struct {
	// Kymas is the most Kymas that a change may remove a module from without approval; 10 by default.
	Kymas int
	// Percent is the largest share of this instance's Kymas, of which at least one Kyma is always meant; 5.
	Percent int
	// PerMinute is how many such removals each process begins in a minute; 60.
	PerMinute int
}

// Options are what the activities need.
type Options struct {
	// Settings are the instance's flags.
	Settings desired.Settings
	// ControlPlane reads and writes the control plane, uncached.
	ControlPlane client.Client
	// Catalog reads ModuleTemplates, ModuleReleaseMetas and the metadata of Secrets from a cache on which
	// desired.RegisterIndexes was called.
	Catalog client.Reader
	// Descriptors fetches descriptors that are not embedded.
	Descriptors DescriptorSource
	// Objects may be nil: then a default custom resource is only what a template gives, and no layer's.
	Objects ObjectSource
	// Windows may be nil: then no upgrade waits.
	Windows Windows
	// Signatures may be nil: then no descriptor is verified.
	Signatures Signatures
	// Fleet reads the Kymas and Manifests of this instance from a cache with the index of RegisterIndex.
	Fleet client.Reader
	// Known knows which Manifests and access Secrets there are; by default they are listed in the control plane.
	Known *fleet.Fleet
	// PullSecret is nil where no image pull Secret is configured.
	PullSecret desired.PullSecret
	// Clusters may be nil: then no access Secret is found to be gone.
	Clusters Clusters
	// Agents is nil where remote clusters have no agents, and so is Certificates.
	Agents       Agents
	Certificates Certificates
	// Budget may be nil: then nothing bounds removals but Limits, and nobody can approve those that are held.
	Budget Budget
	// Limits bound removals that the catalog causes.
	Limits Limits
	// Events may be nil: then no Event is recorded.
	Events EventRecorder
	// Refused may be nil: then Manifests that no plan had are not counted.
	Refused manifests.RefusalCounter
	// Now is the clock; time.Now by default.
	Now func() time.Time
}
