package install

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Access gives access to clusters; *clusters.Registry does.
type Access interface {
	ControlPlane() *clusters.Cluster
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
	// Reach is ForKyma for who only looks: it asks the control plane nothing where access is known.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Sender wakes the open workflow of a Kyma; *kick.Sender does.
type Sender interface {
	OpenKyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
}

// Purges tells which objects are forced; *purge.Teller does.
type Purges interface {
	Announce(ctx context.Context, kyma kick.Ref, o purge.Object) error
	Done(kyma kick.Ref, o purge.Object)
	LetGoObjects(ctx context.Context, kyma kick.Ref, message string, objects []string) error
}

// Options configure the activities.
type Options struct {
	// ControlPlane reads and writes Manifests. It must not be cached.
	ControlPlane client.Client
	Clusters     Access
	Artifacts    *artifacts.Store
	Kymas        Sender
	// Events may be nil: then nobody is told of drift.
	Events EventRecorder
	// Drift may be nil: then corrections are not counted.
	Drift DriftCounter
	// RemoteNamespace is the namespace of namespaced objects that name none (flag sync-namespace), where
	// the Manifest has no annotation desired.AnnotationRemoteNamespace; kyma-system.
	RemoteNamespace string
	// Settings say whose Kymas this instance works for, and whether modules may go into the control plane's own cluster.
	Settings desired.Settings
	// Fleet lists Kymas and Manifests, from a cache; ControlPlane by default.
	Fleet client.Reader
	// Known knows which Manifests there are; by default they are listed in the control plane.
	Known *fleet.Fleet
	// Purges tells people what is forced, by default with Events alone; PurgeRules say which finalizers may be taken off.
	Purges     Purges
	PurgeRules purge.Rules
	// PurgeLimit bounds the work in the cluster of one purge, so that it ends within its step; 75 s.
	PurgeLimit time.Duration
	// ApplyLimit is how long one look at a Manifest may have taken when the last object is begun; the next look goes on
	// from there. It must end within its step, with what is waited for after the last object; 80 s.
	ApplyLimit time.Duration
	// Parallel is how many objects of one module are applied at once; 8.
	Parallel int
	// BundleBytes bounds the encoded modules that are kept in memory; 128 MiB.
	BundleBytes int64
	// MissingAPITimeout is how long a kind that the cluster does not know is waited for before that is an
	// error of the module, and so is whatever else of its objects should be applied by then; 10 min.
	MissingAPITimeout time.Duration
	// StuckWorkloadTimeout is how long a workload may be pending before its pods are asked why, and what keeps
	// them back is an error of the module; 5 min.
	StuckWorkloadTimeout time.Duration
	// HookPatience is how long one pass waits for the hooks of a chart; one that takes longer is found by the
	// next pass; 20 s.
	HookPatience time.Duration
	// ReadyWithin is how long one look at a Manifest goes on after everything is applied, for a module that becomes ready
	// within it: then its state is written together with what was applied. 1 s; below zero for none.
	ReadyWithin time.Duration
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Activities make Manifests real.
type Activities struct {
	options Options
	bundles *artifacts.Cache[*bundle]
	teller  *teller
}

// New returns the activities, to be registered with a worker.
func New(o Options) (*Activities, error) {
	if o.ControlPlane == nil || o.Clusters == nil || o.Artifacts == nil || o.Kymas == nil {
		return nil, errors.New("install: ControlPlane, Clusters, Artifacts and Kymas must be given")
	}
	if o.Purges == nil {
		o.Purges = purge.NewTeller(o.ControlPlane)
	}
	if o.Fleet == nil {
		o.Fleet = o.ControlPlane
	}
	if o.Known == nil {
		o.Known = fleet.Live(o.ControlPlane)
	}
	if o.RemoteNamespace == "" {
		o.RemoteNamespace = shared.NamespaceRemote
	}
	if o.PurgeLimit == 0 {
		o.PurgeLimit = 75 * time.Second
	}
	if o.ApplyLimit == 0 {
		o.ApplyLimit = 80 * time.Second
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	if o.BundleBytes == 0 {
		o.BundleBytes = 128 << 20
	}
	if o.MissingAPITimeout == 0 {
		o.MissingAPITimeout = 10 * time.Minute
	}
	if o.StuckWorkloadTimeout == 0 {
		o.StuckWorkloadTimeout = 5 * time.Minute
	}
	if o.HookPatience == 0 {
		o.HookPatience = 20 * time.Second
	}
	if o.ReadyWithin == 0 {
		o.ReadyWithin = time.Second
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	teller, err := newTeller(o.Events, o.Drift, o.Clock)
	if err != nil {
		return nil, err
	}
	return &Activities{options: o, bundles: artifacts.NewCache[*bundle](o.BundleBytes), teller: teller}, nil
}
