package routing

import (
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// purpose is the value of the label purpose on VirtualServices.
const purpose = "watcher-routing"

// virtualService returns the desired VirtualService of a Watcher (docs/contract.md#watcher).
func virtualService(settings desired.Settings, w *v1beta2.Watcher, manager string, chosen selected) *networkingv1.VirtualService {
	return &networkingv1.VirtualService{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: kindVirtualService},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name,
			Labels: map[string]string{
				shared.LabelManagedBy: settings.ManagedBy, shared.LabelPurpose: purpose, shared.LabelPartOf: shared.PartOfKyma,
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w, v1beta2.GroupVersion.WithKind(shared.KindWatcher))},
		},
		Spec: networkingapi.VirtualService{
			Gateways: chosen.names, Hosts: chosen.hosts,
			Http: []*networkingapi.HTTPRoute{
				route(w, shared.EventPath(manager)),
				route(w, shared.EventPathV1(manager)),
			},
		},
	}
}

// route returns the rule that sends the events of one version of the path to the Watcher's Service.
func route(w *v1beta2.Watcher, path string) *networkingapi.HTTPRoute {
	return &networkingapi.HTTPRoute{
		Match: []*networkingapi.HTTPMatchRequest{{
			Uri: &networkingapi.StringMatch{MatchType: &networkingapi.StringMatch_Prefix{Prefix: path}},
		}},
		Route: []*networkingapi.HTTPRouteDestination{{
			Destination: &networkingapi.Destination{
				Host: serviceHost(w),
				Port: &networkingapi.PortSelector{Number: uint32(w.Spec.ServiceInfo.Port)}, //nolint:gosec // checked before (invalid)
			},
		}},
	}
}

func serviceHost(w *v1beta2.Watcher) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local", w.Spec.ServiceInfo.Name, w.Spec.ServiceInfo.Namespace)
}

// isAsWanted reports whether a VirtualService matches: its whole spec, and our part of its metadata.
func isAsWanted(present, want *networkingv1.VirtualService) bool {
	if present == nil || !proto.Equal(&present.Spec, &want.Spec) {
		return false
	}
	labels := maps.Clone(present.Labels)
	maps.Copy(labels, want.Labels)
	owner := metav1.GetControllerOf(present)
	return maps.Equal(labels, present.Labels) && owner != nil && owner.UID == want.OwnerReferences[0].UID
}

// encode returns the content of a server-side apply for a VirtualService: only the fields that we own.
func encode(vs *networkingv1.VirtualService) (*unstructured.Unstructured, error) {
	content, err := json.Marshal(vs)
	if err != nil {
		return nil, fmt.Errorf("encode VirtualService %s/%s: %w", vs.Namespace, vs.Name, err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(content, &object.Object); err != nil {
		return nil, fmt.Errorf("encode VirtualService %s/%s: %w", vs.Namespace, vs.Name, err)
	}
	delete(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return object, nil
}
