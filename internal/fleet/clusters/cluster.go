// Package clusters gives access to the control plane and to remote clusters: one client, one HTTP
// connection pool and one REST mapper per cluster, made once, from kubeconfigs that are distrusted.
package clusters

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is access to one cluster. All its clients share one connection pool, one rate limiter and one
// REST mapper. It stays usable after it was released because nobody used it; only its idle connections are closed. But
// when its access Secret changed, every request fails with ErrAccessChanged, also those under way.
type Cluster struct {
	// Name is for messages: "control plane", or namespace and name of the Kyma.
	Name string
	// Config has the address and the limits of the cluster. Do not make further clients of it; those
	// below share what is to be shared.
	Config *rest.Config
	HTTP   *http.Client
	// Client is uncached: every read is live.
	Client client.Client
	// Metadata reads, applies and deletes without bodies: its answers hold only metadata.
	Metadata metadata.Interface
	// Dynamic reads objects of any kind in full.
	Dynamic dynamic.Interface
	// Discovery is uncached.
	Discovery discovery.DiscoveryInterface
	// Mapper knows the built-in kinds and asks the cluster for others, one group version at a time.
	Mapper *Mapper

	// Validity is for how long the credentials of a remote cluster are valid.
	Validity Validity

	// Prepared is for the package sync, which remembers here that the cluster had all that it needs first.
	Prepared atomic.Bool

	capabilities capabilities
	// uid is which cluster this is, once it was asked; see UID.
	uid atomic.Pointer[types.UID]
	// account is whom the cluster takes us for, once it was asked; see Account.
	account atomic.Pointer[Account]
	// invalidated is set when the cluster no longer accepts the credentials: the registry then makes a new one.
	invalidated *atomic.Bool
	idle        func()
	// lease is nil for the control plane.
	lease *lease
}

// lease lasts for as long as no other access is known to have taken the place of this one.
type lease struct {
	ctx context.Context
	end context.CancelCauseFunc
}

func newLease() *lease {
	ctx, end := context.WithCancelCause(context.Background())
	return &lease{ctx, end}
}

// controlPlaneName is the Name of the control plane's Cluster.
const controlPlaneName = "control plane"

// newControlPlane makes access from a configuration of our own, which is used as it is.
func newControlPlane(config *rest.Config, scheme *runtime.Scheme, clock func() time.Time) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		// Unset means unlimited here, and not client-go's 5 a second: the server has its own fairness.
		config.QPS = -1
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client for the control plane: %w", err)
	}
	return assemble(controlPlaneName, config, httpClient, scheme, clock, &atomic.Bool{}, httpClient.CloseIdleConnections)
}

// assemble makes all clients of a cluster over one HTTP client. It makes no request.
func assemble(name string, config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme, clock func() time.Time,
	invalidated *atomic.Bool, idle func(),
) (*Cluster, error) {
	if config.RateLimiter == nil && config.QPS > 0 {
		// Otherwise every client would have a limiter of its own, and the limit would not be the cluster's.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	c := &Cluster{Name: name, Config: config, HTTP: httpClient, invalidated: invalidated, idle: idle}
	c.capabilities.clock = clock
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make the discovery client for %s: %w", name, err)
	}
	c.Discovery = discoveryClient
	c.Mapper = NewMapper(discoveryClient.RESTClient())
	if c.Metadata, err = metadata.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("make the metadata client for %s: %w", name, err)
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("make the dynamic client for %s: %w", name, err)
	}
	c.Client, err = client.New(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: c.Mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client for %s: %w", name, err)
	}
	return c, nil
}

// IsControlPlane tells whether this is the control plane's own cluster, reached as such.
func (c *Cluster) IsControlPlane() bool { return c.Name == controlPlaneName }

// replace ends the access: another took its place.
func (c *Cluster) replace() {
	if c.lease != nil {
		c.lease.end(ErrAccessChanged)
	}
}

// closeIdle closes connections that nobody uses now.
func (c *Cluster) closeIdle() {
	if c.idle != nil {
		c.idle()
	}
}
