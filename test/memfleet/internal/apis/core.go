package apis

import (
	"net"
	"sync/atomic"

	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	kubelet "k8s.io/kubernetes/pkg/kubelet/client"
	endpointstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	limitrangestore "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	nodestore "k8s.io/kubernetes/pkg/registry/core/node/storage"
	volumestore "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplatestore "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	controllerstore "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	corerest "k8s.io/kubernetes/pkg/registry/core/rest"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestore "k8s.io/kubernetes/pkg/registry/core/service/storage"
)

// coreGroup is the API of group "". What needs a kubelet (logs, exec, proxies) is not served.
func coreGroup(options generic.RESTOptionsGetter, served serverstorage.APIResourceConfigSource) (genericserver.APIGroupInfo, error) {
	info, err := (&corerest.GenericConfig{}).NewRESTStorage(served, options)
	if err != nil {
		return info, err
	}
	all := info.VersionedResourcesStorageMap["v1"]
	simple := map[string]func() (rest.Storage, error){
		"podtemplates": func() (rest.Storage, error) { return podtemplatestore.NewREST(options) },
		"limitranges":  func() (rest.Storage, error) { return limitrangestore.NewREST(options) },
	}
	for name, make := range simple {
		if all[name], err = make(); err != nil {
			return info, err
		}
	}
	if err := volumes(all, options); err != nil {
		return info, err
	}
	controllers, err := controllerstore.NewStorage(options)
	if err != nil {
		return info, err
	}
	all["replicationcontrollers"], all["replicationcontrollers/status"], all["replicationcontrollers/scale"] =
		controllers.Controller, controllers.Status, controllers.Scale
	return info, workloads(all, options)
}

func volumes(all map[string]rest.Storage, options generic.RESTOptionsGetter) error {
	volume, volumeStatus, err := volumestore.NewREST(options)
	if err != nil {
		return err
	}
	all["persistentvolumes"], all["persistentvolumes/status"] = volume, volumeStatus
	claim, claimStatus, err := claimstore.NewREST(options)
	if err != nil {
		return err
	}
	all["persistentvolumeclaims"], all["persistentvolumeclaims/status"] = claim, claimStatus
	return nil
}

func workloads(all map[string]rest.Storage, options generic.RESTOptionsGetter) error {
	nodes, err := nodestore.NewStorage(options, kubelet.KubeletClientConfig{}, nil)
	if err != nil {
		return err
	}
	all["nodes"], all["nodes/status"] = nodes.Node, nodes.Status
	budgets, err := policyclient.NewForConfig(&clientrest.Config{})
	if err != nil {
		return err
	}
	pods, err := podstore.NewStorage(options, nodes.KubeletConnectionInfo, nil, budgets, newAnyone())
	if err != nil {
		return err
	}
	all["pods"], all["pods/status"], all["pods/binding"] = pods.Pod, pods.Status, pods.Binding
	endpoints, err := endpointstore.NewREST(options)
	if err != nil {
		return err
	}
	all["endpoints"] = endpoints
	// Nobody asks a fake cluster to proxy, which is what the endpoints of a Service are for.
	service, serviceStatus, _, err := servicestore.NewREST(options, core.IPv4Protocol,
		map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: &addresses{}}, &ports{}, nil, pods.Pod, nil)
	if err != nil {
		return err
	}
	all["services"], all["services/status"] = service, serviceStatus
	return nil
}

// addresses hands out addresses for Services, one after the other, to all clusters from one range. None is refused, and
// none is remembered: two Services that ask for the same address both get it.
type addresses struct {
	next atomic.Uint32
}

var _ ipallocator.Interface = (*addresses)(nil)

// The range 10.128.0.0/9.
const (
	addressBits = 23
	addressBase = 10<<24 | 1<<addressBits
)

func (a *addresses) Allocate(net.IP) error { return nil }
func (a *addresses) AllocateNext() (net.IP, error) {
	n := addressBase | a.next.Add(1)%(1<<addressBits)
	return net.IPv4(byte(n>>24), byte(n>>16), byte(n>>8), byte(n)), nil
}
func (a *addresses) Release(net.IP) error          { return nil }
func (a *addresses) ForEach(func(net.IP))          {}
func (a *addresses) IPFamily() core.IPFamily       { return core.IPv4Protocol }
func (a *addresses) Has(net.IP) bool               { return true }
func (a *addresses) Destroy()                      {}
func (a *addresses) EnableMetrics()                {}
func (a *addresses) DryRun() ipallocator.Interface { return a }
func (a *addresses) CIDR() net.IPNet {
	return net.IPNet{IP: net.IPv4(10, 128, 0, 0).To4(), Mask: net.CIDRMask(32-addressBits, 32)}
}

// ports hands out node ports in the same way.
type ports struct{ next atomic.Uint32 }

var _ portallocator.Interface = (*ports)(nil)

func (p *ports) Allocate(int) error { return nil }
func (p *ports) AllocateNext() (int, error) {
	const first, count = 30000, 2768
	return first + int(p.next.Add(1)%count), nil
}
func (p *ports) Release(int) error { return nil }
func (p *ports) ForEach(func(int)) {}
func (p *ports) Has(int) bool      { return true }
func (p *ports) Destroy()          {}
func (p *ports) EnableMetrics()    {}
