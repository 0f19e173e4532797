package watchers

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// StateMetrics exports the states of Kymas, their modules and the mandatory ones from the cache, at the moment they are asked for
// (contract, section 8). Each Kyma and each module has one series, that of its present state, with the value 1.
// Only the leader exports them, so that nothing is counted twice.
type StateMetrics struct {
	reader client.Reader
	leads  <-chan struct{}
	ours   func(labels map[string]string) bool

	kymas, modules, mandatory *prometheus.Desc
}

// NewStateMetrics returns a collector that reads Kymas from a cache. It exports nothing before leads is closed.
func NewStateMetrics(reader client.Reader, leads <-chan struct{}, settings desired.Settings) *StateMetrics {
	return &StateMetrics{
		reader: reader, leads: leads, ours: settings.WithDefaults().Ours,
		kymas: prometheus.NewDesc("lifecycle_mgr_kyma_state", "The state of a Kyma.",
			[]string{"kyma_name", "state", "shoot", "instance_id"}, nil),
		modules: prometheus.NewDesc("lifecycle_mgr_module_state", "The state of a module of a Kyma.",
			[]string{"module_name", "kyma_name", "state", "shoot", "instance_id"}, nil),
		mandatory: prometheus.NewDesc("lifecycle_mgr_mandatory_module_state", "The state of a mandatory module of a Kyma.",
			[]string{"module_name", "kyma_name", "state"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (s *StateMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- s.kymas
	descriptions <- s.modules
	descriptions <- s.mandatory
}

// collectTimeout bounds a scrape; the cache answers at once.
const collectTimeout = 5 * time.Second

// Collect implements prometheus.Collector.
func (s *StateMetrics) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-s.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var kymas v1beta2.KymaList
	if err := s.reader.List(ctx, &kymas); err != nil {
		metrics <- prometheus.NewInvalidMetric(s.kymas, err)
		return
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !s.ours(kyma.Labels) || desired.IsSyncedCopy(kyma) {
			continue
		}
		shoot, instance := shootOf(kyma), kyma.InstanceID()
		metrics <- prometheus.MustNewConstMetric(s.kymas, prometheus.GaugeValue, 1,
			kyma.Name, string(kyma.Status.State), shoot, instance)
		for _, module := range kyma.Status.Modules {
			metrics <- prometheus.MustNewConstMetric(s.modules, prometheus.GaugeValue, 1,
				module.Name, kyma.Name, string(module.State), shoot, instance)
		}
	}
	s.collectMandatory(ctx, metrics)
}

// collectMandatory exports the states of mandatory modules, which no Kyma's status shows.
func (s *StateMetrics) collectMandatory(ctx context.Context, metrics chan<- prometheus.Metric) {
	var manifests v1beta2.ManifestList
	err := s.reader.List(ctx, &manifests, client.MatchingLabels{shared.LabelMandatoryModule: shared.ValueTrue}, client.UnsafeDisableDeepCopy)
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(s.mandatory, err)
		return
	}
	for i := range manifests.Items {
		if manifest := &manifests.Items[i]; s.ours(manifest.Labels) {
			metrics <- prometheus.MustNewConstMetric(s.mandatory, prometheus.GaugeValue, 1,
				manifest.ModuleName(), manifest.KymaName(), string(manifest.Status.State))
		}
	}
}

// shootOf is the name of the remote cluster: the first part of its domain.
func shootOf(kyma *v1beta2.Kyma) string {
	name, _, _ := strings.Cut(kyma.Annotations[shared.AnnotationSKRDomain], ".")
	return name
}
