package metrics

import "github.com/prometheus/client_golang/prometheus"

// Artifacts counts what is asked of caches and registries; it is the counter of an artifacts.Store.
type Artifacts struct {
	cached, answers *prometheus.CounterVec
	bytes           prometheus.Counter
}

// NewArtifacts registers the metrics of artifacts.
func NewArtifacts(registry prometheus.Registerer) (*Artifacts, error) {
	a := &Artifacts{
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_artifact_cache_requests_total",
			Help: "Artifacts that were asked for, by kind (layer, descriptor, rendering), and whether they were in the cache of memory or folder (hit) or not (miss).",
		}, []string{"kind", "result"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_registry_requests_total",
			Help: "Fetches from registries, each with all its tries: ok, or the reason why it failed.",
		}, []string{"result"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lifecycle_mgr_artifact_fetched_bytes_total",
			Help: "Bytes of artifacts that were fetched from registries.",
		}),
	}
	return a, register(registry, "artifacts", a.cached, a.answers, a.bytes)
}

// ArtifactAsked counts an artifact of a kind that was asked for.
func (a *Artifacts) ArtifactAsked(kind string, hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	a.cached.WithLabelValues(kind, result).Inc()
}

// RegistryAnswered counts a fetch, with the reason why it failed, if it did, and the bytes that came.
func (a *Artifacts) RegistryAnswered(reason string, bytes int) {
	if reason == "" {
		reason = "ok"
	}
	a.answers.WithLabelValues(reason).Inc()
	a.bytes.Add(float64(bytes))
}
