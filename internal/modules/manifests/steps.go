// Package manifests is how every activity on a Manifest begins and ends: the Manifest is read live, its owner and its
// cluster are checked, finalizers are added first and removed last, and the result is recorded in its status. News tell the
// Kyma's workflow what changed.
//
// Steps is the entry point; activities/install, activities/uninstall and activities/purge embed it.
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

// Access gives access to clusters; *clusters.Registry implements it.
type Access interface {
	ControlPlane() *clusters.Cluster
	ForKyma(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
	// Reach is ForKyma for a caller that only reads: it requests nothing from the control plane where access is known.
	Reach(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)
}

// Options configure the steps.
type Options struct {
	// ControlPlane reads and writes Manifests. It must not be cached.
	ControlPlane client.Client
	Clusters     Access
	// Events may be nil: then no Event is recorded.
	Events EventRecorder
	// Drift may be nil: then corrections are not counted.
	Drift DriftCounter
	// Refused may be nil: then refused Manifests are not counted.
	Refused RefusalCounter
	// SignaturesRequired is true under the signature policy "require".
	SignaturesRequired bool
	// RemoteNamespace is the namespace of namespaced objects that name none (flag sync-namespace), where
	// the Manifest has no annotation desired.AnnotationRemoteNamespace; kyma-system.
	RemoteNamespace string
	// Settings say whose Kymas this instance works for, and whether modules may go into the control plane's own cluster.
	Settings desired.Settings
	// Fleet lists Kymas and Manifests, from a cache; ControlPlane by default.
	Fleet client.Reader
	// Known knows which Manifests there are; by default they are listed in the control plane.
	Known *fleet.Fleet
	// Injection reads the Secrets whose data modules ask for; by default from ControlPlane.
	Injection *injection.Source
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Steps are shared by all activities on Manifests.
type Steps struct {
	Options  Options
	Recorder *Recorder
}

// New returns the steps.
func New(o Options) (*Steps, error) {
	if o.ControlPlane == nil || o.Clusters == nil {
		return nil, errors.New("manifests: ControlPlane and Clusters must be given")
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
