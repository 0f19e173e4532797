package clusters

import (
	"cmp"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// Options configure a Registry. The zero value of every field but ControlPlane and Scheme is usable.
type Options struct {
	// ControlPlane is the configuration for the cluster where Lifecycle Manager's own resources live.
	// It comes from ourselves, so it is used as it is.
	ControlPlane *rest.Config
	// Scheme must know the core types and Lifecycle Manager's own.
	Scheme *runtime.Scheme
	// Fleet knows which access Secrets there are, so that only those are read; by default they are listed.
	Fleet *fleet.Fleet
	// AccessSecretNamespace is where access Secrets are looked for when a Kyma's own namespace has
	// none. Empty means nowhere else.
	AccessSecretNamespace string
	// Allow permits what is refused in kubeconfigs by default.
	Allow Allow
	// Limits bound what one cluster may cost us.
	Limits Limits
	// WrapTransport, where set, wraps the transport to every remote cluster: metrics, request counts,
	// cut connections in tests. The name is that of the Kyma ("namespace/name").
	WrapTransport func(cluster string, next http.RoundTripper) http.RoundTripper
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Limits bound what one remote cluster may cost.
type Limits struct {
	// QPS and Burst limit the requests to one cluster (flags k8s-skr-client-qps, -burst); 50 and 100.
	QPS   float32
	Burst int
	// Concurrency is how many requests to one cluster are under way at once (flag k8s-skr-client-concurrency); 16.
	// Others wait for their turn, within their own time.
	Concurrency int
	// RequestTimeout bounds one request including its body; 15 s. One that sends much may take longer, see Within.
	// DialTimeout bounds the connection including TLS; 5 s.
	RequestTimeout time.Duration
	DialTimeout    time.Duration
	// MaxResponseBytes caps every response body; 32 MiB.
	MaxResponseBytes int64
	// MaxClusters is how many clients are cached; 12,000. IdleAfter is when an unused one is evicted; 30 min.
	MaxClusters int
	IdleAfter   time.Duration
}

// Allow permits what is refused in a kubeconfig by default, because it reaches beyond the cluster that
// the kubeconfig is for: into our file system, our processes, or our network.
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
	// sizeInTime is how much a request may send in each RequestTimeout beyond the first.
	sizeInTime = 128 << 10
	// mostTimes is how many RequestTimeouts a request may take at most.
	mostTimes = 3
)

// Within is for how long a request may take that sends so much. An API server that is slow takes its time above all for
// large definitions, which it decodes, checks and merges several times over. It is still aborted in time for the
// activity that waits for it, which heartbeats meanwhile.
func (l Limits) Within(size int64) time.Duration {
	within := l.RequestTimeout
	if size > 0 {
		within += time.Duration(float64(l.RequestTimeout) * float64(size) / sizeInTime)
	}
	return min(within, mostTimes*l.RequestTimeout).Round(time.Millisecond)
}
