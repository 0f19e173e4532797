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

// Kinds of Istio's.
const (
	// KindGateway is in kicks about a Gateway.
	KindGateway        = "Gateway"
	kindVirtualService = "VirtualService"
)

// ErrNoIstio is where the control plane lacks kinds of Istio's that `--watcher-routing=istio` needs.
var ErrNoIstio = errors.New("--watcher-routing=istio needs Istio in the control plane")

// AddToScheme adds Istio's kinds to a scheme, where these settings need them.
func AddToScheme(settings desired.Settings, scheme *runtime.Scheme) error {
	if settings.Watching.Routing != desired.RoutingIstio {
		return nil
	}
	return networkingv1.AddToScheme(scheme)
}

// CheckIstio tells whether the control plane serves the kinds of Istio's that these settings need. Without them, informers
// would wait for ever.
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

// AddToCache adds to the options of a cache what is kept of Watchers, Gateways and VirtualServices: of Watchers, those with
// these labels, of VirtualServices, ours. Gateways may be in any namespace.
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

// Gateway is an empty Gateway, for watchers.
func Gateway() *networkingv1.Gateway { return &networkingv1.Gateway{} }

// VirtualService is an empty VirtualService, for watchers.
func VirtualService() *networkingv1.VirtualService { return &networkingv1.VirtualService{} }

var _ client.Object = Gateway()
