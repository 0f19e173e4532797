package metrics

import "github.com/prometheus/client_golang/prometheus"

// Link says whether work can be done.
type Link struct {
	// Up is 1 while the link to Temporal works.
	Up prometheus.Gauge
	// Pollers are the workers that poll a task queue, by task_queue and kind.
	Pollers *prometheus.GaugeVec
	// BacklogAge is for how long the oldest task of a queue has waited, BacklogTasks how many wait, by task_queue and kind.
	BacklogAge, BacklogTasks *prometheus.GaugeVec
}

// NewLink registers lifecycle_mgr_temporal_up and what is known of the task queues.
func NewLink(registry prometheus.Registerer) (*Link, error) {
	ofQueue := []string{"task_queue", "kind"}
	l := &Link{
		Up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_temporal_up",
			Help: "Is 1 while Temporal answers, knows our search attributes, and somebody polls every task queue.",
		}),
		Pollers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_pollers",
			Help: "Workers of all processes that poll a task queue, by kind of task.",
		}, ofQueue),
		BacklogAge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_backlog_age_seconds",
			Help: "For how long the oldest task that waits in a task queue has waited, as Temporal estimates it, by kind of task.",
		}, ofQueue),
		BacklogTasks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lifecycle_mgr_task_queue_backlog_tasks",
			Help: "Tasks that wait in a task queue, as Temporal estimates it, by kind of task.",
		}, ofQueue),
	}
	return l, register(registry, "the link to Temporal", l.Up, l.Pollers, l.BacklogAge, l.BacklogTasks)
}

// NewSettingsAgree registers lifecycle_mgr_settings_agree.
func NewSettingsAgree(registry prometheus.Registerer) (prometheus.Gauge, error) {
	agrees := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_settings_agree",
		Help: "Is 1 while the settings of this process are those of the instance; otherwise it does no work.",
	})
	return agrees, register(registry, "the settings", agrees)
}

// RegisterPolicyRead registers lifecycle_mgr_maintenance_window_config_read_success, which asks understood at each scrape.
func RegisterPolicyRead(registry prometheus.Registerer, understood func() bool) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_maintenance_window_config_read_success",
		Help: "Is 1 where the maintenance policy is understood, or none is configured; 0 where upgrades with a downtime wait because it is not.",
	}, func() float64 {
		if understood() {
			return 1
		}
		return 0
	})
	return register(registry, "the maintenance policy", gauge)
}
