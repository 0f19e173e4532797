// Package manifests has the steps with which every activity on a Manifest begins and ends.
//
// Steps is the entry point; activities/install, activities/uninstall and activities/purge hold one. An activity uses it
// in this order:
//
//	m, err := steps.Read(ctx, ref)                            // live
//	ownership, err := steps.CheckOwnership(ctx, m)            // does this instance work on it?
//	m, refused, err := steps.Undecided(ctx, m, ownership.Kyma) // is it as planned?
//	cluster, err := steps.Target(ctx, m)                      // access to the right cluster
//	err = steps.AddFinalizers(ctx, m)                         // before anything is installed
//	_, err = steps.WriteStatus(ctx, m, change)                // what will be done, then what was done
//	err = steps.RemoveFinalizers(ctx, m)                      // after everything was removed
//
// What must stay true:
//
//   - A Manifest is installed only if a Kyma of this instance owns it, and only as that Kyma's plan decided
//     (target.go, plan.go). Otherwise anybody who may write Manifests could install anything with our
//     permissions.
//   - The cluster must be the one that the Kyma is recorded to be synchronized to (bound.go).
//   - Before each stage of an installation, MayBeginStage checks that the Manifest has not changed.
//   - Several Kymas share one installation in the control plane (sharing.go).
//   - News tells the Kyma's workflow what changed; nothing here signals a workflow.
//
// Watch waits until modules are ready, over several attempts of one activity (wait.go).
package manifests

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/injection"
)

// Access gives access to clusters. *clusters.Registry implements it.
type Access interface {
	ControlPlane() *clusters.Cluster
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
	// Reach is ForKyma for a caller that only reads. If access is already known, Reach requests nothing from the control
	// plane.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Options configures the steps.
type Options struct {
	// ControlPlane reads and writes Manifests. It must not be cached or nil.
	ControlPlane client.Client
	Clusters     Access
	// Events may be nil. Then no Events are recorded.
	Events EventRecorder
	// Drift may be nil. Then corrections are not counted.
	Drift DriftCounter
	// Refused may be nil. Then refused Manifests are not counted.
	Refused RefusalCounter
	// SignaturesRequired is true under the signature policy "require".
	SignaturesRequired bool
	// RemoteNamespace is the namespace of namespaced objects that name none (flag sync-namespace) if the Manifest lacks
	// the annotation desired.AnnotationRemoteNamespace. The default is kyma-system.
	RemoteNamespace string
	// Settings decides which Kymas this instance works for, and whether modules may be installed in the control plane's
	// own cluster.
	Settings desired.Settings
	// Fleet reads Kymas and Manifests from a cache. The default is ControlPlane.
	Fleet client.Reader
	// Known knows the existing Manifests. By default, it lists them in the control plane.
	Known *fleet.Fleet
	// Injection reads the Secrets with data for modules. By default, it reads them from ControlPlane.
	Injection *injection.Source
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Steps holds the steps. All activities on Manifests share one.
type Steps struct {
	Options  Options
	Recorder *Recorder
}

// New returns the Steps. Options.ControlPlane and Options.Clusters must not be nil.
func New(o Options) (*Steps, error) {
	if o.ControlPlane == nil || o.Clusters == nil {
		return nil, errors.New("manifests: Options.ControlPlane and Options.Clusters must not be nil")
	}
	if o.Fleet == nil {
		o.Fleet = o.ControlPlane
	}
	if o.Known == nil {
		o.Known = fleet.Live(o.ControlPlane)
	}
	o.RemoteNamespace = cmp.Or(o.RemoteNamespace, shared.NamespaceRemote)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Injection == nil {
		o.Injection = injection.New(o.ControlPlane, o.Clock)
	}
	recorder := NewRecorder(o.Events, o.Drift, o.Clock)
	recorder.refused = o.Refused
	return &Steps{Options: o, Recorder: recorder}, nil
}
