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

// Options are what the activities need.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads live and writes.
	ControlPlane client.Client
	// Informers have the Watchers, and the Gateways where the routing is Istio's.
	Informers client.Reader
	// Events may be nil.
	Events hint.Recorder
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Activities work on Watchers.
type Activities struct {
	options Options
}

// New makes the activities.
func New(o Options) (*Activities, error) {
	if o.ControlPlane == nil || o.Informers == nil {
		return nil, errors.New("routing: ControlPlane and Informers must be given")
	}
	if !o.Settings.Watching.Enabled() {
		return nil, errors.New("routing: the routing of events must be direct or istio")
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
	// OutcomeDone: the Watcher's status says how it is, and only a change can make a difference.
	OutcomeDone Outcome = "Done"
	// OutcomeReleased: its routing is gone, and so is our finalizer.
	OutcomeReleased Outcome = "Released"
	// OutcomeGone: there is no such Watcher, or it is not this instance's.
	OutcomeGone Outcome = "Gone"
)

// In is the input of ReconcileWatcher.
type In struct {
	Ref kick.Ref `json:"ref"`
	// Gateways are those that kicks named: what informers have of them may be out of date.
	Gateways []types.NamespacedName `json:"gateways,omitempty"`
}

// Out is its result.
type Out struct {
	Outcome Outcome `json:"outcome"`
	// State and Message are those of the Watcher's status.
	State   shared.State `json:"state,omitempty"`
	Message string       `json:"message,omitempty"`
}

// ReconcileWatcher sets up the routing of a Watcher, or removes it, and reports in its status.
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
		// What is wrong is reported first, where it is not over with the next attempt.
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

// guard writes our finalizer before there is anything to undo.
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

// informersTimeout bounds the wait for informers that are not filled yet.
const informersTimeout = 10 * time.Second

// gather reads what the Watcher's routing depends on: from informers, which Gateways and Watchers there are; live, the
// Gateways that kicks named and the VirtualService.
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

// refresh replaces what informers have of a Gateway by what it is now.
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
