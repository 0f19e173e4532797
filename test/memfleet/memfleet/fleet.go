// Package memfleet runs any number of fake Kubernetes API servers in one process, for tests with thousands of clusters. All
// of them are one instance of Kubernetes' own API server code over a store in memory that keeps what clusters have in
// common once.
package memfleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/controllers"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// Options say what a fleet is like. The zero value of each but Clusters is a default.
type Options struct {
	// Clusters is how many there are. They are named 00000, 00001 and so on.
	Clusters int
	// ReadyAfter is when workloads are available, and the custom resources of Ready are; default 1 s.
	ReadyAfter time.Duration
	// ReadySpread is how much later than ReadyAfter that is at most, for each object by its name; default 0.
	ReadySpread time.Duration
	// EstablishAfter is when definitions are served; default 100 ms.
	EstablishAfter time.Duration
	// CollectAfter is when garbage is collected and namespaces are emptied; default 100 ms.
	CollectAfter time.Duration
	// Ready are the API groups or, as plural.group, kinds whose custom resources get status.state Ready by themselves.
	Ready []string
	// Secret is what the clusters' tokens are made of. Who knows it has access to all; default: drawn.
	Secret []byte
	// Faults are what goes wrong; see Fleet.SetFaults.
	Faults Faults
	// Log gets what failed in the fleet itself; default: slog's default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.ReadyAfter == 0 {
		o.ReadyAfter = time.Second
	}
	const soon = 100 * time.Millisecond
	if o.EstablishAfter == 0 {
		o.EstablishAfter = soon
	}
	if o.CollectAfter == 0 {
		o.CollectAfter = soon
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Fleet is a number of clusters. It is an http.Handler: see Fleet.ServeHTTP. It is safe for concurrent use.
type Fleet struct {
	options  Options
	server   *apis.Server
	manager  *controllers.Manager
	tokens   tokens
	clusters []cluster
	names    names
	plan     atomic.Pointer[plan]
	conns    connections
	// seeds are what is in every cluster from the start.
	seeds []*store.Record
}

// cluster is one of a fleet. What is needed only for a cluster that was talked to is made when it is.
type cluster struct {
	once   sync.Once
	made   atomic.Bool
	store  *store.Cluster
	counts counts
	// choices is how many random choices of faults were made.
	choices atomic.Uint64
}

// New returns a fleet. It needs Run for whatever happens in clusters by itself.
func New(ctx context.Context, o Options) (*Fleet, error) {
	o = o.withDefaults()
	if o.Clusters < 1 {
		return nil, errors.New("a fleet needs a cluster")
	}
	tokens, err := newTokens(o.Secret)
	if err != nil {
		return nil, err
	}
	server, err := apis.New()
	if err != nil {
		return nil, err
	}
	const workers = 4
	manager, err := controllers.New(server, controllers.Options{
		ReadyAfter: o.ReadyAfter, ReadySpread: o.ReadySpread, EstablishAfter: o.EstablishAfter, CollectAfter: o.CollectAfter,
		Ready: o.Ready, Workers: workers, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	f := &Fleet{options: o, server: server, manager: manager, tokens: tokens, clusters: make([]cluster, o.Clusters)}
	if f.seeds, err = seeds(ctx, server); err != nil {
		return nil, fmt.Errorf("make what is in every cluster: %w", err)
	}
	if err := f.SetFaults(o.Faults); err != nil {
		return nil, err
	}
	return f, nil
}

// Run does what happens in clusters by itself, until the context ends.
func (f *Fleet) Run(ctx context.Context) { f.manager.Run(ctx) }

// Waiting is how many things are yet to happen in clusters by themselves.
func (f *Fleet) Waiting() int { return f.manager.Waiting() }

// at returns a cluster that is in use from now on.
func (f *Fleet) at(number int) *cluster {
	c := &f.clusters[number]
	c.once.Do(func() {
		c.store = store.NewCluster(func(change store.Change) { f.manager.Changed(c.store, change) })
		f.seed(c)
		c.made.Store(true)
	})
	return c
}

// used is what is in a cluster; nil of one that nobody has talked to yet.
func (c *cluster) used() *store.Cluster {
	if !c.made.Load() {
		return nil
	}
	return c.store
}

// seed puts in a cluster what is in every cluster.
func (f *Fleet) seed(c *cluster) {
	for _, r := range f.seeds {
		c.store.Copy(apis.Namespaces(), r, time.Now())
	}
}

// Name is that of a cluster, by its number from 0.
func Name(number int) string { return fmt.Sprintf("%05d", number) }

// number is that of a cluster by its name.
func (f *Fleet) number(name string) (int, bool) {
	n := 0
	if len(name) < len("00000") {
		return 0, false
	}
	for _, c := range name {
		if c < '0' || c > '9' || n > len(f.clusters) {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, n < len(f.clusters)
}

// prefix is what the paths of clusters begin with.
const prefix = "/clusters/"

// ServeHTTP answers requests to clusters, at /clusters/NAME, and to the administrator, at /admin.
func (f *Fleet) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, "/admin/") {
		f.serveAdmin(w, req)
		return
	}
	rest, ok := strings.CutPrefix(req.URL.Path, prefix)
	if !ok {
		http.NotFound(w, req)
		return
	}
	name, path, _ := strings.Cut(rest, "/")
	number, ok := f.number(name)
	if !ok {
		http.NotFound(w, req)
		return
	}
	f.serveCluster(w, req, number, "/"+path)
}
