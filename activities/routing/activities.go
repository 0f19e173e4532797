package routing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Options configures the activities.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads live and writes.
	ControlPlane client.Client
	// Informers reads Watchers. If the routing is istio, it also reads Gateways.
	Informers client.Reader
	Events    hint.Recorder
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Activities reconciles Watchers.
type Activities struct {
	options Options
}

// New returns the activities.
func New(o Options) (*Activities, error) {
	if o.ControlPlane == nil || o.Informers == nil {
		return nil, errors.New("routing: ControlPlane and Informers must not be nil")
	}
	if !o.Settings.Watching.Enabled() {
		return nil, errors.New("routing: events must be routed with direct or istio")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Settings = o.Settings.WithDefaults()
	return &Activities{options: o}, nil
}

// Outcome says how a reconcile of a Watcher ended.
type Outcome string

const (
	// OutcomeDone: the Watcher's status is written. Only a change requires another reconcile.
	OutcomeDone Outcome = "Done"
	// OutcomeReleased: the Watcher's routing and our finalizer are gone.
	OutcomeReleased Outcome = "Released"
	// OutcomeGone: the Watcher does not exist or belongs to another instance.
	OutcomeGone Outcome = "Gone"
)

// In is the input of ReconcileWatcher.
type In struct {
	Ref kick.Ref `json:"ref"`
	// Gateways are the Gateways that kicks named. They are read live, because informers may be out of date.
	Gateways []types.NamespacedName `json:"gateways,omitempty"`
}

// Out is the result of ReconcileWatcher.
type Out struct {
	Outcome Outcome `json:"outcome"`
	// State and Message are copied from the Watcher's status.
	State   shared.State `json:"state,omitempty"`
	Message string       `json:"message,omitempty"`
}

// ReconcileWatcher sets up or removes the routing of a Watcher, and reports the result in the Watcher's status.
func (a *Activities) ReconcileWatcher(ctx context.Context, in In) (Out, error) {
	w := &v1beta2.Watcher{}
	err := a.options.ControlPlane.Get(ctx, in.Ref.Key(), w)
	if apierrors.IsNotFound(err) {
		return Out{Outcome: OutcomeGone}, nil
	}
	if err != nil {
		return Out{}, fmt.Errorf("read Watcher %s: %w", in.Ref, err)
	}
	if w.UID != in.Ref.UID || !a.options.Settings.Ours(w.Labels) {
		return Out{Outcome: OutcomeGone}, nil
	}
	if !w.DeletionTimestamp.IsZero() {
		return a.release(ctx, w)
	}
	if a.options.Settings.Watching.Routing != desired.RoutingIstio {
		return a.withoutIstio(ctx, w)
	}
	if err := a.guard(ctx, w); err != nil {
		return Out{}, err
	}
	s, err := a.gather(ctx, w, in.Gateways)
	if err != nil {
		return Out{}, err
	}
	p := Decide(a.options.Settings, s)
	if p, err = a.carryOut(ctx, s, p); err != nil {
		// Report the problem before the retry, because the next attempt may not solve it.
		if p.Problem != "" {
			err = errors.Join(err, a.report(ctx, w, p))
		}
		return Out{}, err
	}
	if err := a.report(ctx, w, p); err != nil {
		return Out{}, err
	}
	return Out{Outcome: OutcomeDone, State: p.State, Message: p.Message}, nil
}

// guard adds our finalizer before anything is created that has to be cleaned up.
func (a *Activities) guard(ctx context.Context, w *v1beta2.Watcher) error {
	before := w.DeepCopy()
	if !controllerutil.AddFinalizer(w, shared.FinalizerWatcher) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.options.ControlPlane.Patch(ctx, w, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("write the finalizer of Watcher %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

// informersTimeout bounds the wait for informers that have not synced yet.
const informersTimeout = 10 * time.Second

// gather reads everything that the Watcher's routing depends on. Gateways and Watchers come from informers. The Gateways
// that kicks named and the VirtualService are read live.
func (a *Activities) gather(ctx context.Context, w *v1beta2.Watcher, named []types.NamespacedName) (Situation, error) {
	filled, cancel := context.WithTimeout(ctx, informersTimeout)
	defer cancel()
	s, err := Gather(filled, a.options.Informers, a.options.Settings, w)
	if err != nil {
		return s, err
	}
	for _, key := range named {
		if s.Gateways, err = a.refresh(ctx, s.Gateways, key); err != nil {
			return s, err
		}
	}
	present := &networkingv1.VirtualService{}
	err = a.options.ControlPlane.Get(ctx, client.ObjectKeyFromObject(w), present)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return s, fmt.Errorf("read VirtualService %s/%s: %w", w.Namespace, w.Name, err)
	default:
		s.Present = present
	}
	return s, nil
}

// refresh replaces a Gateway from the informers by its live version.
func (a *Activities) refresh(ctx context.Context, gateways []*networkingv1.Gateway, key types.NamespacedName) ([]*networkingv1.Gateway, error) {
	gateways = slices.DeleteFunc(gateways, func(g *networkingv1.Gateway) bool { return client.ObjectKeyFromObject(g) == key })
	now := &networkingv1.Gateway{}
	err := a.options.ControlPlane.Get(ctx, key, now)
	if apierrors.IsNotFound(err) {
		return gateways, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Gateway %s: %w", key, err)
	}
	return append(gateways, now), nil
}
