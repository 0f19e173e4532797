package worker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// MetricsHandler exports the Temporal SDK's own metrics through a Prometheus registry.
func MetricsHandler(registry prometheus.Registerer) (client.MetricsHandler, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("export Temporal metrics: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: provider.Meter("temporal-sdk")}), nil
}

// Kicks counts kicks by reason; it is the counter of a kick.Sender.
type Kicks struct{ sent *prometheus.CounterVec }

// NewKicks registers lifecycle_mgr_kicks_total.
func NewKicks(registry prometheus.Registerer) (*Kicks, error) {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lifecycle_mgr_kicks_total",
		Help: "Signals sent to workflows because something changed, by reason.",
	}, []string{"reason"})
	if err := registry.Register(sent); err != nil {
		return nil, fmt.Errorf("register lifecycle_mgr_kicks_total: %w", err)
	}
	return &Kicks{sent: sent}, nil
}

// KickSent counts one kick.
func (k *Kicks) KickSent(reason string) { k.sent.WithLabelValues(reason).Inc() }

// Drift counts the objects in clusters that others had changed or deleted, and that were put right.
type Drift struct{ corrections prometheus.Counter }

// NewDrift registers lifecycle_mgr_drift_corrections_total.
func NewDrift(registry prometheus.Registerer) (*Drift, error) {
	corrections := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_drift_corrections_total",
		Help: "Objects of modules that others had changed or deleted in their clusters, and that were put right.",
	})
	if err := registry.Register(corrections); err != nil {
		return nil, fmt.Errorf("register lifecycle_mgr_drift_corrections_total: %w", err)
	}
	return &Drift{corrections: corrections}, nil
}

// DriftCorrected counts objects that were put right.
func (d *Drift) DriftCorrected(objects int) { d.corrections.Add(float64(objects)) }

// Purges counts forced objects; it is the counter of a purge.Teller.
type Purges struct{ purged prometheus.Counter }

// NewPurges registers lifecycle_mgr_purged_objects_total.
func NewPurges(registry prometheus.Registerer) (*Purges, error) {
	purged := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_purged_objects_total",
		Help: "Objects that a purge deleted or took finalizers off, after the grace period of their Kyma's deletion.",
	})
	if err := registry.Register(purged); err != nil {
		return nil, fmt.Errorf("register lifecycle_mgr_purged_objects_total: %w", err)
	}
	return &Purges{purged: purged}, nil
}

// ObjectPurged counts one object.
func (p *Purges) ObjectPurged() { p.purged.Inc() }
