// Package clusters gives access to the control plane and to the remote clusters of Kymas. Each cluster has one set of
// clients with one connection pool, one rate limiter and one REST mapper, which all steps in a process share.
//
// A process makes one Registry with New:
//
//	c, err := registry.ForKyma(ctx, namespace, name) // reads the access Secret live; use before writes
//	c, err := registry.Reach(ctx, namespace, name)   // trusts the informer's version of the Secret; use for reads
//	err = clusters.Classify(c.Client.Get(ctx, key, object))
//
// No call above sends a request to the remote cluster before its client is used. Registry.Follow drops access as soon
// as its Secret changes.
//
// Invariants:
//
//   - A kubeconfig is untrusted: configFrom copies only known fields, and Allow lists what may reach beyond the cluster.
//   - After a change of an access Secret is known, no request uses the old credentials; requests in progress are aborted.
//   - A cluster cannot flood, stall or redirect us, and our credentials do not show in its errors (guard, masks).
//   - No lock is held during a request.
//   - Classify returns faults with a reason of faults.go, except for errors that only the caller can interpret. Each kind
//     of unreachable cluster has its own reason.
//   - A Kyma never gets the cluster of another Kyma with the same name (checkShared).
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

// Cluster is access to one cluster. Its clients share one connection pool, one rate limiter and one REST mapper. After
// the registry evicts an unused Cluster, it stays usable; only its idle connections are closed. After a change of the
// access Secret, every request fails with ErrAccessChanged, including those in progress.
type Cluster struct {
	// Name is for messages: "control plane", or namespace and name of the Kyma.
	Name string
	// Config holds the address and the limits of the cluster. Do not make more clients from it, because they would not
	// share the limits.
	Config *rest.Config
	HTTP   *http.Client
	// Client reads without a cache.
	Client client.Client
	// Metadata reads, applies and deletes without bodies: the answers contain only metadata.
	Metadata metadata.Interface
	// Dynamic reads complete objects of any kind.
	Dynamic dynamic.Interface
	// Discovery reads without a cache.
	Discovery discovery.DiscoveryInterface
	// Mapper knows the built-in kinds, and asks the cluster for others, one group version at a time.
	Mapper *Mapper

	// Validity is the period in which the credentials of a remote cluster are valid.
	Validity Validity

	// Prepared is for package activities/sync, which sets it once the cluster has everything that it needs first.
	Prepared atomic.Bool

	capabilities capabilities
	// uid identifies the cluster, if known; see UID.
	uid atomic.Pointer[types.UID]
	// account is our identity in the cluster, if known; see Account.
	account atomic.Pointer[Account]
	// invalidated is set when the cluster refuses the credentials. The registry then makes a new Cluster.
	invalidated *atomic.Bool
	idle        func()
	// lease is nil for the control plane.
	lease *lease
}

// lease lasts until another access replaces this one.
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

// newControlPlane returns access with our own configuration, which is trusted.
func newControlPlane(config *rest.Config, scheme *runtime.Scheme, clock func() time.Time) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		// Here, unset means unlimited instead of client-go's 5 requests a second: the API server has its own fairness.
		config.QPS = -1
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client for the control plane: %w", err)
	}
	return assemble(controlPlaneName, config, httpClient, scheme, clock, &atomic.Bool{}, httpClient.CloseIdleConnections)
}

// assemble makes all clients of a cluster with one HTTP client. It sends no request.
func assemble(name string, config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme, clock func() time.Time,
	invalidated *atomic.Bool, idle func(),
) (*Cluster, error) {
	if config.RateLimiter == nil && config.QPS > 0 {
		// Without a shared limiter, each client would have its own, and the limit would apply per client.
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

// IsControlPlane reports whether this is the control plane's own cluster, accessed with our own configuration.
func (c *Cluster) IsControlPlane() bool { return c.Name == controlPlaneName }

// replace ends the access because another one has replaced it.
func (c *Cluster) replace() {
	if c.lease != nil {
		c.lease.end(ErrAccessChanged)
	}
}

// closeIdle closes idle connections.
func (c *Cluster) closeIdle() {
	if c.idle != nil {
		c.idle()
	}
}
