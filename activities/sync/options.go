package sync

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/definitions"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/imports"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Clusters gives access to the clusters of Kymas.
type Clusters interface {
	// ForKyma returns access to the cluster that the access Secret of this Kyma leads to; its errors are
	// fault.Errors.
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
	// Reach is ForKyma for who only reads: it asks the control plane nothing where access is known.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Options are what the activities need.
type Options struct {
	// Settings are the instance's flags.
	Settings desired.Settings
	// ControlPlane reads and writes the control plane, uncached.
	ControlPlane client.Client
	// Catalog reads ModuleTemplates and ModuleReleaseMetas from a cache.
	Catalog client.Reader
	// Known knows which Manifests and access Secrets there are; by default they are listed in the control plane.
	Known *fleet.Fleet
	// Clusters gives access to remote clusters.
	Clusters Clusters
	// Definitions are the CustomResourceDefinitions that remote clusters get: Kyma, ModuleTemplate and
	// ModuleReleaseMeta.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// PullSecret is the image pull Secret; needed where Settings.ImagePullSecret is set.
	PullSecret PullSecret
	// Certificates issues the certificates of agents; needed where Settings.Watching is enabled.
	Certificates Certificates
	// RemoteTemplateRegistries are the registries, as `host` or `host:port`, that user-provided ModuleTemplates in
	// remote clusters may take their parts from; none by default, so that only those are of use that leave
	// their descriptor to our own registry.
	RemoteTemplateRegistries []string
	// Plan returns the names of the Manifests that a Kyma is to have, and how each is to be; by default, only the resolution
	// plans.
	Plan func(ctx context.Context, kyma *v1beta2.Kyma) ([]string, []v1beta2.PlannedManifest, error)
	// Purges records what is forced, by default with Events alone; PurgeRules say which finalizers may be taken off.
	Purges     Purges
	PurgeRules purge.Rules
	// Events may be nil: then no Event is recorded of what a cluster undoes, or of what stays of upstream.
	Events hint.Recorder
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Version is the version of this build (semver). Definitions that a newer build brought are left unchanged.
	Version string
}

// Activities are the activities of this package.
type Activities struct {
	Options
	definitions *definitions.Set
	catalogs    *catalog.Catalogs
	imports     *imports.Importer
	identity    *identity
	reverts     *reverts
}

// New returns the activities. It fails when the definitions cannot be prepared.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil || options.Catalog == nil || options.Clusters == nil {
		return nil, errors.New("sync: control plane client, catalog and clusters are needed")
	}
	if options.Settings.ImagePullSecret != "" && options.PullSecret == nil {
		return nil, errors.New("sync: an image pull Secret is configured, but not given")
	}
	if options.Settings.Watching.Enabled() && options.Certificates == nil {
		return nil, errors.New("sync: remote clusters are to send events, and nothing issues certificates for it")
	}
	if options.Known == nil {
		options.Known = fleet.Live(options.ControlPlane)
	}
	if options.Purges == nil {
		options.Purges = purge.NewRecorder(options.ControlPlane)
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	remoteDefinitions, err := definitions.New(options.Definitions, options.Version)
	if err != nil {
		return nil, err
	}
	options.Settings = options.Settings.WithDefaults()
	importer, err := imports.New(options.Settings, options.ControlPlane, options.Catalog, options.RemoteTemplateRegistries)
	if err != nil {
		return nil, err
	}
	return &Activities{
		Options: options, definitions: remoteDefinitions, imports: importer,
		catalogs: catalog.New(options.Settings, options.ControlPlane, options.Catalog, options.Clock),
		identity: newIdentity(options.ControlPlane), reverts: newReverts(options.Events, options.Clock),
	}, nil
}

// Purges records which objects are forced; *purge.Recorder does.
type Purges interface {
	RecordIntent(ctx context.Context, kyma kick.Ref, o purge.Object) error
	Done(kyma kick.Ref, o purge.Object)
}

// Certificates issues the certificates of agents; see package certificates.
type Certificates interface {
	// Ensure returns the certificate of a Kyma's agent; a Pending fault says that it is not issued yet.
	Ensure(ctx context.Context, request certificates.Request) (certificates.Issued, error)
}

// PullSecret is the Secret in the control plane with which remote clusters pull images; *pullsecret.Source is.
type PullSecret interface {
	Key() types.NamespacedName
	Read(ctx context.Context) (*corev1.Secret, error)
	Content(ctx context.Context) (string, error)
}
