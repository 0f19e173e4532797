// Package listener takes the events that agents in remote clusters send, and kicks the workflows that they concern.
//
//	listener.go   what it is made of, and its start and end
//	server.go     the port and its limits; connections on which nobody proves who they are
//	tls.go        mutual TLS that ends here
//	identity.go   whose certificate a request has
//	handler.go    what is answered
//	affected.go   which Kyma and which Manifests an event concerns
//	kicker.go     passes on what waits, at the pace of package queue
//
// An event says that something changed, and never what to do. The certificate says whose event it is; what the body says
// is believed inside that Kyma only. The worst that an agent can do is to have its own Kyma compared too often, for which
// there are limits per Kyma.
package listener

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/internal/queue"
)

// DefaultKicksPerSecond is how many kicks a listener sends where nothing else is configured.
const DefaultKicksPerSecond = 200

// Credentials are what the listener shows to agents, and checks them by; *credentials.Secret has them.
type Credentials interface {
	// Current is what is in use now; false before there is anything. It is called for each request, and must not wait.
	Current() (credentials.Material, bool)
}

// Kicks wake workflows; *kick.Sender does.
type Kicks interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
}

// Options are what a Listener needs.
type Options struct {
	// Address is where it listens (`--kyma-skr-listener-bind-address`).
	Address string
	// Routing is desired.RoutingDirect, where TLS ends here, or desired.RoutingIstio, where it ends at a gateway.
	Routing desired.Routing
	// Manager is the part of the path for whom the events are: that of this instance.
	Manager string
	// GatewayCIDRs have the addresses from which gateways connect, whose word on certificates counts
	// (`--listener-gateway-cidrs`), where Routing is desired.RoutingIstio. Without any, every event is refused.
	GatewayCIDRs []netip.Prefix
	// Credentials of the listener; without their certificate where Routing is desired.RoutingIstio.
	Credentials Credentials
	// Kymas is the cache of Kymas, on which fleet.RegisterRuntimeIDs was called.
	Kymas client.Reader
	// Manifests is the cache of Manifests, on which fleet.Register was called.
	Manifests client.Reader
	// Ours tells by the labels of a Kyma whether this instance works on it (desired.Settings.Ours); nil for all.
	Ours func(labels map[string]string) bool
	// Kicks wake the workflows.
	Kicks Kicks
	// Registry takes the metrics.
	Registry prometheus.Registerer
	// Log is where lines go, of the same kind at most one a minute.
	Log logr.Logger
	// KicksPerSecond is how many kicks are sent for all Kymas together; DefaultKicksPerSecond where it is zero.
	KicksPerSecond int
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// limits are what tests make smaller.
type limits struct {
	// connections of all, and perCluster of one common name where TLS ends here.
	connections, connectionsPerCluster int
	// requests at once of all, and of one common name.
	requests, requestsPerCluster int
	headerBytes                  int
	readHeader, read, write      time.Duration
	idle                         time.Duration
	// proof is how long a connection is kept on which no request has a valid certificate.
	proof time.Duration
	// drain is how long kicks are still sent when the process ends, and end how long requests may take then.
	drain, end time.Duration
	// senders is how many kicks are on their way at once, each for no longer than kick.
	senders int
	kick    time.Duration
	queue   queue.Limits
}

func defaultLimits(kicksPerSecond int) limits {
	return limits{
		connections: 20_000, connectionsPerCluster: 32, requests: 512, requestsPerCluster: 16,
		headerBytes: shared.MaxCertificateHeaderBytes + 16<<10,
		readHeader:  5 * time.Second, read: 5 * time.Second, write: 10 * time.Second, idle: 2 * time.Minute, proof: 10 * time.Second,
		drain: 5 * time.Second, end: 2 * time.Second, senders: 32, kick: 10 * time.Second,
		queue: queue.Limits{
			PerSecond: 1, Burst: 5, UrgentPerSecond: 0.1, UrgentBurst: 5,
			Together: rate.Limit(kicksPerSecond), TogetherBurst: kicksPerSecond,
			Capacity: 100_000, PerKyma: 1_000, Pause: 500 * time.Millisecond, MaxPause: 30 * time.Second,
		},
	}
}

// Listener implements manager.Runnable, on every replica.
type Listener struct {
	options  Options
	limits   limits
	metrics  *metrics.Events
	log      *limitedLog
	verifier *verifier
	clusters *clusters
	kicker   *kicker
	slots    chan struct{}
	secure   atomic.Pointer[secure]
	stopping atomic.Bool
	address  atomic.Pointer[net.Addr]
}

// New makes a Listener. It registers its metrics.
func New(o Options) (*Listener, error) {
	o.KicksPerSecond = cmp.Or(o.KicksPerSecond, DefaultKicksPerSecond)
	return newListener(o, defaultLimits(o.KicksPerSecond))
}

func newListener(o Options, limits limits) (*Listener, error) {
	if err := check(o); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ours == nil {
		o.Ours = func(map[string]string) bool { return true }
	}
	log := &limitedLog{log: o.Log, now: o.Now, said: map[string]line{}}
	l := &Listener{
		options: o, limits: limits, log: log, verifier: newVerifier(o.Now),
		clusters: newClusters(limits), slots: make(chan struct{}, limits.requests),
	}
	l.kicker = newKicker(o.Kicks, limits, log, o.Now)
	var err error
	if l.metrics, err = metrics.NewEvents(o.Registry, results(), l.kicker.length); err != nil {
		return nil, err
	}
	l.kicker.delay, l.kicker.lost = l.metrics.Delay, l.metrics.Lost
	return l, nil
}

// check refuses options that cannot work.
func check(o Options) error {
	switch _, _, err := net.SplitHostPort(o.Address); {
	case err != nil:
		return fmt.Errorf("the listener's address %q: %w", o.Address, err)
	case o.Routing != desired.RoutingDirect && o.Routing != desired.RoutingIstio:
		return fmt.Errorf("there is no listener for the routing %q", o.Routing)
	case o.Manager == "" || strings.ContainsAny(o.Manager, "/%?#"):
		return fmt.Errorf("the listener's manager %q cannot be a part of a path", o.Manager)
	case o.Routing == desired.RoutingDirect && len(o.GatewayCIDRs) > 0:
		return errors.New("the listener has addresses of gateways, and by its routing nobody connects through one")
	case o.KicksPerSecond < 0:
		return fmt.Errorf("the listener cannot send %d kicks a second", o.KicksPerSecond)
	case o.Credentials == nil || o.Kymas == nil || o.Manifests == nil || o.Kicks == nil || o.Registry == nil:
		return errors.New("the listener needs Credentials, Kymas, Manifests, Kicks and Registry")
	}
	for _, prefix := range o.GatewayCIDRs {
		if !prefix.IsValid() {
			return errors.New("an address range of the listener's gateways is invalid")
		}
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica listens.
func (l *Listener) NeedLeaderElection() bool { return false }

// Addr is where it listens; nil before Start has opened the port.
func (l *Listener) Addr() net.Addr {
	if at := l.address.Load(); at != nil {
		return *at
	}
	return nil
}

// Start listens until the context ends. Then it answers that it takes no more events, passes on those that it took, for
// some seconds, and closes the port.
func (l *Listener) Start(ctx context.Context) error {
	port, err := l.open(ctx)
	if err != nil {
		return err
	}
	server := l.server()
	served := make(chan error, 1)
	go func() {
		if l.options.Routing == desired.RoutingDirect {
			served <- server.ServeTLS(port, "", "")
		} else {
			served <- server.Serve(port)
		}
	}()
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		l.kicker.run(sending)
	}()
	select {
	case err = <-served:
		cancel()
		<-passed
		return fmt.Errorf("serve the listener: %w", err)
	case <-ctx.Done():
	}
	l.stopping.Store(true)
	<-passed
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), l.limits.end)
	defer stop()
	if err := server.Shutdown(ending); err != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
