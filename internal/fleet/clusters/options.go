package clusters

import (
	"cmp"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// Options configures a Registry. Only ControlPlane and Scheme are required.
type Options struct {
	// ControlPlane is the configuration for the cluster with Lifecycle Manager's own resources. It is our own, so it is
	// trusted.
	ControlPlane *rest.Config
	// Scheme must contain the core types and Lifecycle Manager's own types.
	Scheme *runtime.Scheme
	// Fleet knows the access Secrets, so that only those are read. By default the Registry lists them.
	Fleet *fleet.Fleet
	// AccessSecretNamespace is a second namespace for access Secrets, for Kymas without a Secret in their own
	// namespace. If it is empty, there is no second namespace.
	AccessSecretNamespace string
	// Allow permits settings that are refused in kubeconfigs by default.
	Allow Allow
	// Limits bounds the cost of one cluster.
	Limits Limits
	// WrapTransport may wrap the transport to every remote cluster, for metrics and request counts, or to cut
	// connections in tests. cluster is the Kyma ("namespace/name"). It may be nil.
	WrapTransport func(cluster string, next http.RoundTripper) http.RoundTripper
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Limits bounds the cost of one remote cluster.
type Limits struct {
	// QPS and Burst limit the request rate to one cluster (flags k8s-skr-client-qps, -burst); 50 and 100 by default.
	QPS   float32
	Burst int
	// Concurrency is the number of concurrent requests to one cluster (flag k8s-skr-client-concurrency); 16 by default.
	// Other requests wait, within their own timeouts.
	Concurrency int
	// RequestTimeout bounds one request including its body; 15 s by default. Large requests may take longer, see
	// Within. DialTimeout bounds the connection including TLS; 5 s by default.
	RequestTimeout time.Duration
	DialTimeout    time.Duration
	// MaxResponseBytes bounds every response body; 32 MiB by default.
	MaxResponseBytes int64
	// MaxClusters is the number of cached clusters; 12,000 by default. IdleAfter is when an unused one is evicted; 30
	// min by default.
	MaxClusters int
	IdleAfter   time.Duration
}

// Allow permits settings that are refused in a kubeconfig by default, because they reach beyond the kubeconfig's
// cluster: into our file system, our processes, or our network.
type Allow struct {
	// HTTP permits servers without TLS.
	HTTP bool
	// InsecureTLS permits insecure-skip-tls-verify.
	InsecureTLS bool
	// Proxy permits proxy-url.
	Proxy bool
	// Files permits file references (certificate-authority, client-certificate, client-key, tokenFile).
	Files bool
}

func (l Limits) withDefaults() Limits {
	l.QPS = cmp.Or(l.QPS, 50)
	l.Burst = cmp.Or(l.Burst, 100)
	l.Concurrency = cmp.Or(l.Concurrency, 16)
	l.RequestTimeout = cmp.Or(l.RequestTimeout, 15*time.Second)
	l.DialTimeout = cmp.Or(l.DialTimeout, 5*time.Second)
	l.MaxResponseBytes = cmp.Or(l.MaxResponseBytes, 32<<20)
	l.MaxClusters = cmp.Or(l.MaxClusters, 12_000)
	l.IdleAfter = cmp.Or(l.IdleAfter, 30*time.Minute)
	return l
}

const (
	// sizeInTime is the number of bytes that a request may send in each RequestTimeout beyond the first.
	sizeInTime = 128 << 10
	// mostTimes is the greatest timeout of a request, in RequestTimeouts.
	mostTimes = 3
)

// Within returns the timeout of a request by the size of its body. A slow API server needs time above all for large
// definitions, which it decodes, validates and merges several times. The timeout is short enough for the activity that
// waits for the request and heartbeats meanwhile.
func (l Limits) Within(size int64) time.Duration {
	within := l.RequestTimeout
	if size > 0 {
		within += time.Duration(float64(l.RequestTimeout) * float64(size) / sizeInTime)
	}
	return min(within, mostTimes*l.RequestTimeout).Round(time.Millisecond)
}
