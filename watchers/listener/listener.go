// Package listener receives events from the agents in remote clusters, and kicks the workflows that they concern.
//
// New returns a Listener, which every replica runs as a manager.Runnable:
//
//	l, err := listener.New(listener.Options{Address: ":8082", Routing: desired.RoutingDirect, Credentials: secret, ...})
//	err = mgr.Add(l)
//
// One file per subject:
//
//	listener.go   options, limits, start and end
//	server.go     the port and its limits; closes connections without a valid certificate
//	tls.go        mutual TLS, if it ends at the listener
//	identity.go   the certificate of a request
//	handler.go    the answers
//	affected.go   the Kyma and the Manifests that an event concerns
//	kicker.go     sends the waiting kicks, at the pace of package queue
//
// Invariants:
//   - An event reports that something changed, never what to do.
//   - The certificate identifies the Kyma. The body is trusted only within that Kyma.
//   - The worst that a compromised agent can do is to have its own Kyma compared too often. Limits per Kyma bound that.
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

// DefaultKicksPerSecond is the default of Options.KicksPerSecond.
const DefaultKicksPerSecond = 200

// Credentials provides the listener's certificate and the authorities that it trusts. It is implemented by
// *credentials.Secret.
type Credentials interface {
	// Current returns the Material in use, and false if there is none yet. It is called for each request and must not
	// block.
	Current() (credentials.Material, bool)
}

// Kicks wakes workflows. It is implemented by *kick.Sender.
type Kicks interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
}

// Options configure a Listener.
type Options struct {
	// Address is the address to listen on (`--kyma-skr-listener-bind-address`).
	Address string
	// Routing is desired.RoutingDirect if TLS ends at the listener, or desired.RoutingIstio if it ends at a gateway.
	Routing desired.Routing
	// Manager is the segment of the path that addresses this instance.
	Manager string
	// GatewayCIDRs are the addresses of gateways that may report client certificates (`--listener-gateway-cidrs`), if
	// Routing is desired.RoutingIstio. Without any, every event is refused.
	GatewayCIDRs []netip.Prefix
	// Credentials of the listener; without a certificate if Routing is desired.RoutingIstio.
	Credentials Credentials
	// Kymas is the cache of Kymas, on which fleet.RegisterRuntimeIDs was called.
	Kymas client.Reader
	// Manifests is the cache of Manifests, on which fleet.Register was called.
	Manifests client.Reader
	// Ours reports, by a Kyma's labels, whether this instance works on it (desired.Settings.Ours); nil means all.
	Ours func(labels map[string]string) bool
	// Kicks wakes the workflows.
	Kicks Kicks
	// Registry registers the metrics.
	Registry prometheus.Registerer
	// Log receives at most one line per minute of each kind.
	Log logr.Logger
	// KicksPerSecond is how many kicks are sent for all Kymas together; DefaultKicksPerSecond if zero.
	KicksPerSecond int
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// limits are variable so that tests can lower them.
type limits struct {
	// connections bounds all connections, and connectionsPerCluster those of one common name if TLS ends here.
	connections, connectionsPerCluster int
	// requests bounds all concurrent requests, and requestsPerCluster those of one common name.
	requests, requestsPerCluster int
	headerBytes                  int
	readHeader, read, write      time.Duration
	idle                         time.Duration
	// proof is how long a connection without a request with a valid certificate stays open.
	proof time.Duration
	// drain is how long kicks are still sent when the process ends, and end how long requests may take after that.
	drain, end time.Duration
	// senders is the number of kicks in flight, and kick the timeout of each.
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

// Listener receives events. It implements manager.Runnable, and runs on every replica.
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

// New returns a Listener and registers its metrics.
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
		return fmt.Errorf("the listener does not support the routing %q", o.Routing)
	case o.Manager == "" || strings.ContainsAny(o.Manager, "/%?#"):
		return fmt.Errorf("the listener's manager %q cannot be a path segment", o.Manager)
	case o.Routing == desired.RoutingDirect && len(o.GatewayCIDRs) > 0:
		return errors.New("addresses of gateways are set, but with direct routing no gateway connects to the listener")
	case o.KicksPerSecond < 0:
		return fmt.Errorf("the listener cannot send %d kicks per second", o.KicksPerSecond)
	case o.Credentials == nil || o.Kymas == nil || o.Manifests == nil || o.Kicks == nil || o.Registry == nil:
		return errors.New("Credentials, Kymas, Manifests, Kicks and Registry of the listener must not be nil")
	}
	for _, prefix := range o.GatewayCIDRs {
		if !prefix.IsValid() {
			return errors.New("an address range of the listener's gateways is invalid")
		}
	}
	return nil
}

// NeedLeaderElection returns false, because every replica listens.
func (l *Listener) NeedLeaderElection() bool { return false }

// Addr returns the address of the port; nil before Start has opened it.
func (l *Listener) Addr() net.Addr {
	if at := l.address.Load(); at != nil {
		return *at
	}
	return nil
}

// Start listens until the context ends. It then refuses further events, sends the kicks of earlier events for some
// seconds, and closes the port.
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
