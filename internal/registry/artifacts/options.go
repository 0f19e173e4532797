// Package artifacts fetches the content of modules from OCI registries: layers by digest, verified and cached, and
// component descriptors. It parses layers, and has package render turn charts into Kubernetes objects.
//
// A process makes one Store with New. Its entry points:
//
//	s.FetchDescriptor(ctx, repository, component, version) // a component descriptor
//	request, err := s.Prepare(ctx, source, cluster)        // cheap: the key of a rendering, without rendering
//	rendered, err := request.Render(ctx)                   // objects and hooks of a module
//	s.FetchObject(ctx, layer)                              // a default custom resource
//	s.Watch(ctx, wake)                                     // wakes workflows when a registry works again
//
// Invariants:
//
//   - Layers are named by digest. Content that does not match its digest is never returned, from the registry or a cache.
//   - Caches are keyed by repository and digest, so that a digest gives no access to another repository's layer.
//   - Every fetched byte is untrusted: Limits bounds its size, and a process of its own renders charts (Options.Renderer).
//   - Plain HTTP is used only for listed hosts, and an entry's credentials go only to the entry's host.
//   - Concurrent callers for the same content share one fetch, and a slow registry does not block requests to others.
//   - Errors are faults (package fault) with a reason of faults.go or of package render.
package artifacts

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Options configures a Store. The zero value is usable: memory only, HTTPS only, anonymous.
type Options struct {
	// CacheDir is a folder for layers on disk, which several workers may share. If it is empty, layers are kept in
	// memory only.
	CacheDir string
	// DiskBytes bounds CacheDir; 2 GiB by default. The least recently used layers are evicted first.
	DiskBytes int64
	// MemoryBytes bounds the layers in memory; 128 MiB by default.
	MemoryBytes int64
	// Limits bounds the cost of one artifact.
	Limits Limits
	// PlainHTTPHosts are the registries ("host:port") to use without TLS. All others must have TLS, even on loopback
	// and private addresses.
	PlainHTTPHosts []string
	// Registries are the only registries to fetch layers from; nil means any. Cached layers of other registries are not
	// used either.
	Registries Registries
	// Keychain holds the credentials (see KeychainFromDockerConfig). Nil means anonymous.
	Keychain authn.Keychain
	// Transport sends requests to registries. Nil means one with the usual timeouts and the environment's proxies.
	Transport http.RoundTripper
	// RootCAs verify the certificates of registries. Nil means the system's authorities. Not used with a Transport.
	RootCAs *x509.CertPool
	// Timeout bounds one fetch with all its retries; 60 s by default.
	Timeout time.Duration
	// PullsPerHost is the number of concurrent requests to one registry; 8 by default.
	PullsPerHost int
	// Pause is the delay before a request with a retryable error is sent again; 500 ms by default. It doubles each
	// time.
	Pause time.Duration
	// Renderer is the command line of a program that answers with render.ServeRenderer. It renders charts in a separate
	// process, so that a template cannot crash this process. If it is empty, charts are rendered in this process, and a
	// template with an endless recursion, or one that uses all memory, ends the process. Leave it empty for tests and
	// trusted charts only.
	Renderer []string
	// Renderers is the number of charts to render at once; 2 by default.
	Renderers int
	// DescriptorTTL is the time for which a fetched descriptor is used without asking the registry again; 5 min by
	// default.
	DescriptorTTL time.Duration
	// Counter counts requests. Nil counts nothing.
	Counter Counter
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Counter counts requests to caches and registries.
type Counter interface {
	// ArtifactAsked counts a request of this kind, and whether a cache had the artifact.
	ArtifactAsked(kind string, hit bool)
	// RegistryAnswered counts a fetch and its bytes. The reason is empty if the fetch succeeded.
	RegistryAnswered(reason string, bytes int)
}

// Kinds of artifacts.
const (
	KindLayer      = "layer"
	KindDescriptor = "descriptor"
	KindRendering  = "rendering"
)

// uncounted is the Counter if Options has none.
type uncounted struct{}

func (uncounted) ArtifactAsked(string, bool)   {}
func (uncounted) RegistryAnswered(string, int) {}

// Limits bounds the cost of one artifact.
type Limits struct {
	// LayerBytes is the greatest size of a layer as transferred; 16 MiB by default.
	LayerBytes int64
	// DescriptorBytes is the greatest size of a component descriptor; 4 MiB by default.
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
