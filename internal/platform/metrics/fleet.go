package metrics

import "github.com/prometheus/client_golang/prometheus"

// Labels of the state metrics.
const (
	labelInstance = "instance_id"
	labelKyma     = "kyma_name"
	labelModule   = "module_name"
	labelShoot    = "shoot"
	labelState    = "state"
)

// MaxStateLabels is the greatest number of labels of a Family.
const MaxStateLabels = 5

// Family is a metric with the value 1 in each series.
type Family struct {
	*prometheus.GaugeVec
	// LabelCount is the number of labels.
	LabelCount int
}

func newFamily(name, help string, labels ...string) *Family {
	return &Family{GaugeVec: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels), LabelCount: len(labels)}
}

// KymaStates has a series per Kyma; labels: instance, Kyma, shoot, state.
func KymaStates() *Family {
	return newFamily("lifecycle_mgr_kyma_state", "The state of a Kyma.", labelInstance, labelKyma, labelShoot, labelState)
}

// ModuleStates has a series per module of a Kyma; labels: instance, Kyma, module, shoot, state.
func ModuleStates() *Family {
	return newFamily("lifecycle_mgr_module_state", "The state of a module of a Kyma.", labelInstance, labelKyma, labelModule, labelShoot, labelState)
}

// MandatoryModuleStates has a series per mandatory module of a Kyma; labels: Kyma, module, state.
func MandatoryModuleStates() *Family {
	return newFamily("lifecycle_mgr_mandatory_module_state", "The state of a mandatory module of a Kyma.", labelKyma, labelModule, labelState)
}

// MandatoryModules is the number of mandatory modules.
func MandatoryModules() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_mandatory_modules", "The number of mandatory modules.", nil, nil)
}

// RolloutPhase has a series per channel with rollouts; labels: namespace, name, module, channel, version, phase.
func RolloutPhase() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_rollout_phase", "Is 1 for the current phase of the newest rollout of each channel.",
		append(rolloutLabels(), "phase"), nil)
}

// RolloutClusters has a series per channel with rollouts and state of clusters; labels: namespace, name, module,
// channel, version, state.
func RolloutClusters() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_rollout_clusters", "Clusters of the newest rollout of each channel, by state.",
		append(rolloutLabels(), "state"), nil)
}

func rolloutLabels() []string { return []string{"namespace", "name", "module", "channel", "version"} }

// RemovalsHeld has a series per object with a change that waits for an approval, and per RemovalBudget that holds
// removals; labels: kind, namespace, name.
func RemovalsHeld() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_removals_held",
		"Is 1 for a ModuleTemplate or ModuleReleaseMeta with a change that would remove a module from too many Kymas, and for a RemovalBudget that holds removals.",
		[]string{"kind", "namespace", "name"}, nil)
}
