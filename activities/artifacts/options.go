// Package artifacts brings what modules are made of from registries: layers by digest, verified and
// cached, parsed and rendered into Kubernetes objects, and component descriptors.
package artifacts

import (
	"crypto/x509"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
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
	// Pause is how long to wait before a request that failed in passing is sent again, doubled each time; 500 ms.
	Pause time.Duration
	// Renderer is a program with its arguments that answers with ServeRenderer: charts are rendered in a process of
	// its own, which a template cannot take this one down with. Empty: they are rendered in this process, and a
	// template that recurses without an end, or takes all memory, ends it. For tests and trusted charts only.
	Renderer []string
	// Renderers is how many charts are rendered at once; 2.
	Renderers int
	// DescriptorTTL is for how long it is believed that a component version's tag has not moved; 5 min.
	DescriptorTTL time.Duration
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Limits bound what one artifact may cost.
type Limits struct {
	// LayerBytes is the size of a layer as transferred; 16 MiB. UnpackedBytes the size of an archive's
	// content, and of what a chart renders to; 64 MiB.
	LayerBytes    int64
	UnpackedBytes int64
	// DescriptorBytes is the size of a component descriptor; 4 MiB.
	DescriptorBytes int64
	// Entries is the number of entries of an archive; 10,000. Objects of one module; 5,000.
	Entries int
	Objects int
	// ObjectBytes is the size of one object as JSON; 1 MiB. An API server takes requests of 3 MiB and etcd of
	// 1.5 MiB, of which managed fields and the status need their share.
	ObjectBytes int
	// RenderTime is what the rendering of a chart may take of processors; 20 s. More is the chart's fault. RenderWait is
	// how long it is waited for; 90 s. More is the fault of a node that is busy, and tried again.
	RenderTime time.Duration
	RenderWait time.Duration
	// RenderBytes is the memory that a rendering may take, the renderer's own included; 512 MiB.
	RenderBytes int64
}

func (o Options) withDefaults() Options {
	setDefault(&o.DiskBytes, 2<<30)
	setDefault(&o.MemoryBytes, 128<<20)
	setDefault(&o.Timeout, time.Minute)
	setDefault(&o.PullsPerHost, 8)
	setDefault(&o.Pause, 500*time.Millisecond)
	setDefault(&o.Renderers, 2)
	setDefault(&o.DescriptorTTL, 5*time.Minute)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Keychain == nil {
		o.Keychain = anonymous{}
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.LayerBytes, 16<<20)
	setDefault(&l.UnpackedBytes, 64<<20)
	setDefault(&l.DescriptorBytes, 4<<20)
	setDefault(&l.Entries, 10_000)
	setDefault(&l.Objects, 5_000)
	setDefault(&l.ObjectBytes, 1<<20)
	setDefault(&l.RenderTime, 20*time.Second)
	setDefault(&l.RenderWait, 90*time.Second)
	setDefault(&l.RenderBytes, 512<<20)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// anonymous has no credentials.
type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }
