package routing

import (
	"context"
	"fmt"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Outdated returns why a Watcher needs another reconcile, or "" if it needs none. The reason becomes a metric label, so
// it contains no names.
func Outdated(settings desired.Settings, s Situation) string {
	if !s.Watcher.DeletionTimestamp.IsZero() {
		return "Watcher is being deleted"
	}
	p := Decide(settings, s)
	guarded := controllerutil.ContainsFinalizer(s.Watcher, shared.FinalizerWatcher)
	istio := settings.Watching.Routing == desired.RoutingIstio
	switch {
	case s.Watcher.Status.ObservedGeneration != s.Watcher.Generation:
		return "Watcher changed"
	case guarded != istio:
		return "the routing of events changed"
	case p.Want != nil && !isAsWanted(s.Present, p.Want), p.Remove && s.Present != nil && isOurs(s.Present, s.Watcher):
		return "VirtualService differs"
	case !p.isShown(s.Watcher):
		return "Watcher is not settled"
	}
	return ""
}

// Gather reads from informers what the routing of a Watcher depends on. Without Istio, this is only the list of Watchers.
func Gather(ctx context.Context, informers client.Reader, settings desired.Settings, w *v1beta2.Watcher) (Situation, error) {
	s := Situation{Watcher: w}
	var watchers v1beta2.WatcherList
	if err := informers.List(ctx, &watchers); err != nil {
		return s, fmt.Errorf("list Watchers: %w", err)
	}
	s.Watchers = watchers.Items
	if settings.Watching.Routing != desired.RoutingIstio {
		return s, nil
	}
	var gateways networkingv1.GatewayList
	if err := informers.List(ctx, &gateways); err != nil {
		return s, fmt.Errorf("list Gateways: %w", err)
	}
	s.Gateways = gateways.Items
	return s, nil
}

// GatherAll is Gather plus the VirtualService from the informers.
func GatherAll(ctx context.Context, informers client.Reader, settings desired.Settings, w *v1beta2.Watcher) (Situation, error) {
	s, err := Gather(ctx, informers, settings, w)
	if err != nil || settings.Watching.Routing != desired.RoutingIstio {
		return s, err
	}
	present := &networkingv1.VirtualService{}
	err = informers.Get(ctx, client.ObjectKeyFromObject(w), present)
	if err != nil {
		return s, client.IgnoreNotFound(fmt.Errorf("read VirtualService %s/%s: %w", w.Namespace, w.Name, err))
	}
	s.Present = present
	return s, nil
}
