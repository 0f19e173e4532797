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
	// ForKyma returns access to the cluster of this Kyma's access Secret. Its errors are fault.Errors.
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
	// Reach is ForKyma for callers that only read. If access is known, it sends no request to the control plane.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Options configures the activities.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads and writes the control plane without a cache.
	ControlPlane client.Client
	// Catalog reads ModuleTemplates and ModuleReleaseMetas from a cache.
	Catalog client.Reader
	// Known knows which Manifests and access Secrets exist. By default it lists them in the control plane.
	Known    *fleet.Fleet
	Clusters Clusters
	// Definitions are the CRDs that remote clusters get: Kyma, ModuleTemplate and ModuleReleaseMeta.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// PullSecret is the image pull Secret. It must not be nil if Settings.ImagePullSecret is set.
	PullSecret PullSecret
	// Certificates issues the certificates of agents. It must not be nil if Settings.Watching is enabled.
	Certificates Certificates
	// RemoteTemplateRegistries are the registries, as `host` or `host:port`, from which user-provided ModuleTemplates in
	// remote clusters may fetch their parts. By default there are none. Then a user-provided template can only be used if
	// its descriptor comes from our own registry.
	RemoteTemplateRegistries []string
	// Plan returns the names of a Kyma's planned Manifests, and the planned state of each. If Plan is nil, only the
	// resolution plans.
	Plan func(ctx context.Context, kyma *v1beta2.Kyma) ([]string, []v1beta2.PlannedManifest, error)
	// Purges records forced objects; by default it writes Events only. PurgeRules decide which finalizers may be removed.
	Purges     Purges
	PurgeRules purge.Rules
	// Events may be nil. Then no Event is recorded about changes that a cluster undoes, or about leftovers of upstream.
	Events hint.Recorder
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Version is the version of this build (semver). CRDs that a newer build wrote stay unchanged.
	Version string
}

// Activities holds the activities of this package.
type Activities struct {
	Options
	definitions *definitions.Set
	catalogs    *catalog.Catalogs
	imports     *imports.Importer
	identity    *identity
	reverts     *reverts
}

// New returns the activities. It returns an error if the definitions cannot be prepared.
func New(options Options) (*Activities, error) {
	if options.ControlPlane == nil || options.Catalog == nil || options.Clusters == nil {
		return nil, errors.New("sync: ControlPlane, Catalog and Clusters must not be nil")
	}
	if options.Settings.ImagePullSecret != "" && options.PullSecret == nil {
		return nil, errors.New("sync: PullSecret must not be nil if an image pull Secret is configured")
	}
	if options.Settings.Watching.Enabled() && options.Certificates == nil {
		return nil, errors.New("sync: Certificates must not be nil if remote clusters send events")
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

// Purges records forced objects. *purge.Recorder implements it.
type Purges interface {
	RecordIntent(ctx context.Context, kyma kick.Ref, o purge.Object) error
	Done(kyma kick.Ref, o purge.Object)
}

// Certificates issues the certificates of agents. See package certificates.
type Certificates interface {
	// Ensure returns the certificate of a Kyma's agent. A Pending fault means that the certificate is not issued yet.
	Ensure(ctx context.Context, request certificates.Request) (certificates.Issued, error)
}

// PullSecret is the image pull Secret in the control plane. *pullsecret.Source implements it.
type PullSecret interface {
	Key() types.NamespacedName
	Read(ctx context.Context) (*corev1.Secret, error)
	Content(ctx context.Context) (string, error)
}
