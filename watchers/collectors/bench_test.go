package collectors

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// BenchmarkScrape measures one scrape of the leader's own metrics: the states of 10,000 Kymas with three modules each,
// one of them mandatory, and a catalog of 1,000 templates.
func BenchmarkScrape(b *testing.B) {
	const kymas, modules = 10_000, 3
	var objects []client.Object
	for i := range kymas {
		objects = append(objects, withStates(i, modules), mandatoryOf(i))
	}
	for m := range 100 {
		name := fmt.Sprintf("module-%d", m)
		meta := desiredtest.ReleaseMeta(name, "regular=1.3.0")
		meta.UID = types.UID(name)
		objects = append(objects, meta)
		for v := range 10 {
			template := desiredtest.Template(name, fmt.Sprintf("1.%d.0", v))
			template.UID = types.UID(template.Name)
			objects = append(objects, template)
		}
	}
	held := fleettest.NewCache(b, desiredtest.Scheme(), objects...)
	held.Hold(b, &v1beta2.Kyma{}, &v1beta2.Manifest{}, &v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{})
	states := stateMetrics(b, held, leading())
	held.Run(b)
	for _, each := range states.following {
		require.Eventually(b, each.HasSynced, time.Minute, time.Millisecond)
	}
	scrape := func(b *testing.B, collector prometheus.Collector, series int) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			all := make(chan prometheus.Metric, series)
			collector.Collect(all)
			require.Len(b, all, series)
		}
	}
	b.Run("states", func(b *testing.B) { scrape(b, states, kymas*(1+modules+1)) })
	b.Run("catalog", func(b *testing.B) {
		scrape(b, NewCatalog(held, leading(), desired.Settings{}), 1)
	})
	b.Run("states-gathered", func(b *testing.B) {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(states)
		b.ReportAllocs()
		for b.Loop() {
			families, err := registry.Gather()
			require.NoError(b, err)
			require.Len(b, families, 3)
		}
	})
}

// BenchmarkPerClusterSeries measures what --per-cluster-metrics adds to one scrape of the leader with 1,000 Kymas of
// five modules: series and bytes of the text format.
func BenchmarkPerClusterSeries(b *testing.B) {
	const kymas, modules = 1_000, 5
	var objects []client.Object
	for i := range kymas {
		objects = append(objects, withStates(i, modules))
	}
	held := fleettest.NewCache(b, desiredtest.Scheme(), objects...)
	states := stateMetrics(b, held, leading())
	held.Run(b)
	require.Eventually(b, func() bool { return allSynced(states.following) }, time.Minute, time.Millisecond)
	registry := prometheus.NewRegistry()
	registry.MustRegister(states)
	var written, series int
	for b.Loop() {
		written, series = 0, 0
		families, err := registry.Gather()
		require.NoError(b, err)
		for _, family := range families {
			size, err := expfmt.MetricFamilyToText(io.Discard, family)
			require.NoError(b, err)
			written, series = written+size, series+len(family.GetMetric())
		}
	}
	require.Equal(b, kymas*(1+modules), series)
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(float64(written), "bytes")
}

func withStates(i, modules int) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("kyma-%05d", i), Namespace: "kcp-system", UID: types.UID(fmt.Sprintf("uid-%05d", i)),
		Labels:      map[string]string{"kyma-project.io/instance-id": fmt.Sprintf("instance-%05d", i), "kyma-project.io/region": "eu-west-1"},
		Annotations: map[string]string{shared.AnnotationSKRDomain: fmt.Sprintf("c-%05d.example.com", i)},
	}}
	kyma.Status.State = shared.StateReady
	for m := range modules {
		kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: fmt.Sprintf("module-%d", m)})
		kyma.Status.Modules = append(kyma.Status.Modules, v1beta2.ModuleStatus{
			Name: fmt.Sprintf("module-%d", m), State: shared.StateReady, Version: "1.2.3",
			Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: fmt.Sprintf("%s-module-%d", kyma.Name, m), Namespace: kyma.Namespace}},
		})
	}
	return kyma
}

func mandatoryOf(i int) *v1beta2.Manifest {
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("kyma-%05d-must", i), Namespace: "kcp-system", UID: types.UID(fmt.Sprintf("must-%05d", i)),
		Labels: map[string]string{
			shared.LabelMandatoryModule: shared.ValueTrue, shared.LabelKymaName: fmt.Sprintf("kyma-%05d", i), shared.LabelModuleName: "must",
		},
	}}
	m.Status.State = shared.StateReady
	return m
}
