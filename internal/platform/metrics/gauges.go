package metrics

import "github.com/prometheus/client_golang/prometheus"

// Link holds the metrics of the link to Temporal.
type Link struct {
	// Up is 1 while the link to Temporal works.
	Up prometheus.Gauge
	// Pollers is the number of workers that poll a task queue, by task_queue and kind.
	Pollers *prometheus.GaugeVec
	// BacklogAge is the age of the oldest waiting task of a queue; BacklogTasks is the number of waiting tasks. Both by
	// task_queue and kind.
	BacklogAge, BacklogTasks *prometheus.GaugeVec
}

// NewLink registers lifecycle_mgr_temporal_up and the metrics of the task queues.
func NewLink(registry prometheus.Registerer) (*Link, error) {
	ofQueue := []string{"task_queue", "kind"}
	l := &Link{
		Up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_temporal_up",
			Help: "Is 1 while Temporal answers, knows our search attributes, and every task queue has a poller.",
		}),
		Pollers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_pollers",
			Help: "Workers that poll a task queue, in all processes, by kind of task.",
		}, ofQueue),
		BacklogAge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_backlog_age_seconds",
			Help: "Age of the oldest waiting task of a task queue, estimated by Temporal, by kind of task.",
		}, ofQueue),
		BacklogTasks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_backlog_tasks",
			Help: "Waiting tasks of a task queue, estimated by Temporal, by kind of task.",
		}, ofQueue),
	}
	return l, register(registry, "the link to Temporal", l.Up, l.Pollers, l.BacklogAge, l.BacklogTasks)
}

// NewSettingsAgree registers lifecycle_mgr_settings_agree.
func NewSettingsAgree(registry prometheus.Registerer) (prometheus.Gauge, error) {
	agrees := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_settings_agree",
		Help: "Is 1 while this process has the settings of the instance. Otherwise it does no work.",
	})
	return agrees, register(registry, "the settings", agrees)
}

// RegisterPolicyRead registers lifecycle_mgr_maintenance_window_config_read_success, which calls understood at each
// scrape.
func RegisterPolicyRead(registry prometheus.Registerer, understood func() bool) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_maintenance_window_config_read_success",
		Help: "Is 1 if the maintenance policy is valid or none is configured. Is 0 if it is invalid: upgrades with a downtime then wait.",
	}, func() float64 {
		if understood() {
			return 1
		}
		return 0
	})
	return register(registry, "the maintenance policy", gauge)
}
