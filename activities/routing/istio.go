package routing

import (
	"errors"
	"fmt"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Kinds of Istio.
const (
	// KindGateway is the kind in kicks about a Gateway.
	KindGateway        = "Gateway"
	kindVirtualService = "VirtualService"
)

// ErrNoIstio means that the control plane lacks Istio kinds that `--watcher-routing=istio` needs.
var ErrNoIstio = errors.New("--watcher-routing=istio needs Istio in the control plane")

// AddToScheme adds Istio's kinds to a scheme if these settings need them.
func AddToScheme(settings desired.Settings, scheme *runtime.Scheme) error {
	if settings.Watching.Routing != desired.RoutingIstio {
		return nil
	}
	return networkingv1.AddToScheme(scheme)
}

// CheckIstio returns ErrNoIstio if the control plane does not serve the Istio kinds that these settings need. Without
// these kinds, informers would wait forever.
func CheckIstio(settings desired.Settings, kinds meta.RESTMapper) error {
	if settings.Watching.Routing != desired.RoutingIstio {
		return nil
	}
	for _, kind := range []string{KindGateway, kindVirtualService} {
		gvk := networkingv1.SchemeGroupVersion.WithKind(kind)
		_, err := kinds.RESTMapping(schema.GroupKind{Group: gvk.Group, Kind: gvk.Kind}, gvk.Version)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("%w, version 1.22 or later: it does not serve %s of %s; install Istio, or set --watcher-routing=direct",
				ErrNoIstio, kind, networkingv1.SchemeGroupVersion)
		}
		if err != nil {
			return fmt.Errorf("ask the control plane for %s of %s: %w", kind, networkingv1.SchemeGroupVersion, err)
		}
	}
	return nil
}

// AddToCache configures a cache for Watchers, Gateways and VirtualServices. It caches Watchers with the labels in ours,
// VirtualServices that we manage, and Gateways of all namespaces.
func AddToCache(settings desired.Settings, ours labels.Selector, options *cache.Options) {
	settings = settings.WithDefaults()
	options.ByObject[&v1beta2.Watcher{}] = cache.ByObject{Label: ours}
	if settings.Watching.Routing != desired.RoutingIstio {
		return
	}
	gateways := cache.ByObject{}
	if len(settings.Namespaces) > 0 {
		gateways.Namespaces = map[string]cache.Config{cache.AllNamespaces: {}}
	}
	options.ByObject[&networkingv1.Gateway{}] = gateways
	options.ByObject[&networkingv1.VirtualService{}] = cache.ByObject{
		Label: labels.SelectorFromSet(labels.Set{shared.LabelManagedBy: settings.ManagedBy, shared.LabelPurpose: purpose}),
	}
}

// Gateway returns an empty Gateway, which watchers need for their informers.
func Gateway() *networkingv1.Gateway { return &networkingv1.Gateway{} }

// VirtualService returns an empty VirtualService, which watchers need for their informers.
func VirtualService() *networkingv1.VirtualService { return &networkingv1.VirtualService{} }

var _ client.Object = Gateway()
