// Package artifacts brings what modules are made of from registries: layers by digest, verified and
// cached, parsed and rendered into Kubernetes objects, and component descriptors.
package artifacts

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Options configure a Store. The zero value is usable: memory only, https only, anonymous.
type Options struct {
	// CacheDir is a folder for layers on disk; several workers may share it. Empty: memory only.
	CacheDir string
	// DiskBytes bounds CacheDir; 2 GiB. The least recently used layers go first.
	DiskBytes int64
	// MemoryBytes bounds the layers held in memory; 128 MiB.
	MemoryBytes int64
	// Limits bound what one artifact may cost.
	Limits Limits
	// PlainHTTPHosts are the registries ("host:port") that are spoken to without TLS. All others must
	// have TLS, wherever they are.
	PlainHTTPHosts []string
	// Registries are all that may be asked for layers; nil means any. What the cache has of others is not used either.
	Registries Registries
	// Keychain has the credentials; see KeychainFromDockerConfig. Nil: anonymous.
	Keychain authn.Keychain
	// Transport to registries; nil means one with the usual time-outs and the environment's proxies.
	Transport http.RoundTripper
	// RootCAs verify registries; nil means those of the system. Not used with a Transport.
	RootCAs *x509.CertPool
	// Timeout bounds one fetch including retries; 60 s.
	Timeout time.Duration
	// PullsPerHost is how many requests to one registry are under way at once; 8.
	PullsPerHost int
	// Pause is how long to wait before a request that failed with a retryable error is sent again, doubled each time; 500 ms.
	Pause time.Duration
	// Renderer is a program with its arguments that answers with render.ServeRenderer: charts are rendered in a process of
	// its own, which a template cannot take this one down with. Empty: they are rendered in this process, and a
	// template that recurses without an end, or takes all memory, ends it. For tests and trusted charts only.
	Renderer []string
	// Renderers is how many charts are rendered at once; 2.
	Renderers int
	// DescriptorTTL is for how long it is believed that a component version's tag has not moved; 5 min.
	DescriptorTTL time.Duration
	// Counter counts what is asked for; nil counts nothing.
	Counter Counter
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Counter counts what caches and registries are asked for.
type Counter interface {
	// ArtifactAsked is told the kind, and whether it was in a cache.
	ArtifactAsked(kind string, hit bool)
	// RegistryAnswered is told the reason of a fetch that failed, empty of one that did not, and how many bytes came.
	RegistryAnswered(reason string, bytes int)
}

// Kinds of what is asked for.
const (
	KindLayer      = "layer"
	KindDescriptor = "descriptor"
	KindRendering  = "rendering"
)

// uncounted is the counter where none is given.
type uncounted struct{}

func (uncounted) ArtifactAsked(string, bool)   {}
func (uncounted) RegistryAnswered(string, int) {}

// Limits bound what one artifact may cost.
type Limits struct {
	// LayerBytes is the size of a layer as transferred; 16 MiB.
	LayerBytes int64
	// DescriptorBytes is the size of a component descriptor; 4 MiB.
	DescriptorBytes int64
	render.Limits
}

func (l Limits) withDefaults() Limits {
	l.LayerBytes = cmp.Or(l.LayerBytes, 16<<20)
	l.DescriptorBytes = cmp.Or(l.DescriptorBytes, 4<<20)
	l.Limits = l.WithDefaults()
	return l
}

func (o Options) withDefaults() Options {
	o.DiskBytes = cmp.Or(o.DiskBytes, 2<<30)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, 128<<20)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.PullsPerHost = cmp.Or(o.PullsPerHost, 8)
	o.Pause = cmp.Or(o.Pause, 500*time.Millisecond)
	o.Renderers = cmp.Or(o.Renderers, 2)
	o.DescriptorTTL = cmp.Or(o.DescriptorTTL, 5*time.Minute)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Counter == nil {
		o.Counter = uncounted{}
	}
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	o.Limits = o.Limits.withDefaults()
	return o
}
