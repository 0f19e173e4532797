package watching

import (
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// NeededKinds returns the kinds of other projects that the control plane must serve for these flags.
func (f *Flags) NeededKinds() []preflight.NeededKind {
	if !f.Desired().Enabled() {
		return nil
	}
	var needed []preflight.NeededKind
	if f.Desired().Routing == desired.RoutingIstio {
		for _, kind := range []string{"Gateway", "VirtualService"} {
			needed = append(needed, preflight.NeededKind{
				GroupVersionKind: networkingv1.SchemeGroupVersion.WithKind(kind), Subject: "Istio", Flag: "--" + routingFlag + " " + string(desired.RoutingIstio),
				Remedy: "install Istio 1.22 or later, or set --" + routingFlag + " " + string(desired.RoutingDirect),
			})
		}
	}
	if f.CertManagement != IssuerSelf {
		if version, err := schema.ParseGroupVersion(f.CertManagement); err == nil {
			needed = append(needed, preflight.NeededKind{
				GroupVersionKind: version.WithKind("Certificate"), Subject: "certificates", Flag: "--" + certificatesFlag + " " + f.CertManagement,
				Remedy: "install the operator that serves it, or set --" + certificatesFlag + " " + IssuerSelf,
			})
		}
	}
	return needed
}
