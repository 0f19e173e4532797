package rollout

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Defaults of a plan, as in the schema. A rollout without a policy may lack the schema's defaults.
const (
	defaultConcurrency  = "10%"
	defaultMaxFailures  = "5%"
	defaultSettleWithin = 15 * time.Minute

	defaultAnalysisInterval = 5 * time.Minute
	minAnalysisInterval     = 30 * time.Second
)

// AllStages in spec.skipSoak and spec.skipAnalysis stands for all stages.
const AllStages = "*"

// stagePlan has the effective settings of one stage.
type stagePlan struct {
	v1beta2.RolloutStage
	concurrency, maxFailures int32
	settleWithin, soak       time.Duration
	// analysis are the queries that count.
	analysis         []v1beta2.RolloutAnalysis
	analysisInterval time.Duration
}

// planOf returns the effective settings of a stage with a total number of clusters.
func planOf(spec v1beta2.ModuleRolloutSpec, i int, total int32) stagePlan {
	stage, plan := Stages(spec.Plan)[i], spec.Plan
	p := stagePlan{
		RolloutStage: stage,
		concurrency:  max(1, number(defaultConcurrency, total, true, stage.Concurrency, plan.Concurrency)),
		maxFailures:  number(defaultMaxFailures, total, false, stage.MaxFailures, plan.MaxFailures),
		settleWithin: duration(defaultSettleWithin, stage.SettleWithin, plan.SettleWithin),
		soak:         duration(0, stage.Soak, plan.Soak),

		analysis:         stage.Analysis,
		analysisInterval: max(minAnalysisInterval, duration(defaultAnalysisInterval, stage.AnalysisInterval, plan.AnalysisInterval)),
	}
	if isSkipped(spec.SkipSoak, stage.Name) {
		p.soak = 0
	}
	if isSkipped(spec.SkipAnalysis, stage.Name) {
		p.analysis = nil
	}
	return p
}

// MaxFailures returns how many of the clusters of a stage may fail.
func MaxFailures(spec v1beta2.ModuleRolloutSpec, stage int, total int32) int32 {
	return planOf(spec, stage, total).maxFailures
}

func isSkipped(stages []string, name string) bool {
	return slices.Contains(stages, name) || slices.Contains(stages, AllStages)
}

// number returns the first value that is set. A percentage is a share of total.
func number(otherwise string, total int32, roundUp bool, of ...*intstr.IntOrString) int32 {
	set := cmp.Or(append(of, new(intstr.FromString(otherwise)))...)
	value, err := intstr.GetScaledValueFromIntOrPercent(set, int(total), roundUp)
	if err != nil {
		return 0 // the schema refuses it
	}
	return int32(value) //nolint:gosec // a share of an int32, or what the schema read into one
}

func duration(otherwise time.Duration, of ...*metav1.Duration) time.Duration {
	return cmp.Or(append(of, &metav1.Duration{Duration: otherwise})...).Duration
}
