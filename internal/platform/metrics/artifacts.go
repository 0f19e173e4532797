package metrics

import "github.com/prometheus/client_golang/prometheus"

// Artifacts counts requests to caches and registries. It is the counter of an artifacts.Store.
type Artifacts struct {
	cached, answers *prometheus.CounterVec
	bytes           prometheus.Counter
}

// NewArtifacts registers the metrics of artifacts.
func NewArtifacts(registry prometheus.Registerer) (*Artifacts, error) {
	a := &Artifacts{
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_artifact_cache_requests_total",
			Help: "Requests for artifacts, by kind (layer, descriptor, rendering) and by whether the cache in memory or on disk had them (hit) or not (miss).",
		}, []string{"kind", "result"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_registry_requests_total",
			Help: "Fetches from registries, by result: ok, or the reason of the failure. A fetch with all its retries counts once.",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lifecycle_mgr_artifact_fetched_bytes_total",
			Help: "Bytes of artifacts fetched from registries.",
		}),
	}
	return a, register(registry, "artifacts", a.cached, a.answers, a.bytes)
}

// ArtifactAsked counts a request for an artifact of a kind.
func (a *Artifacts) ArtifactAsked(kind string, hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	a.cached.WithLabelValues(kind, result).Inc()
}

// RegistryAnswered counts a fetch and its bytes. The reason is empty if the fetch succeeded.
func (a *Artifacts) RegistryAnswered(reason string, bytes int) {
	if reason == "" {
		reason = "ok"
	}
	a.answers.WithLabelValues(reason).Inc()
	a.bytes.Add(float64(bytes))
}
