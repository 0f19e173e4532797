package collectors

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// Catalog exports the number of mandatory modules (docs/contract.md#metrics) and the removals that wait: for an
// approval of a catalog change that would remove too much, or for the removal budget. It reads the cache, and only the
// leader exports it.
type Catalog struct {
	reader    client.Reader
	leads     <-chan struct{}
	settings  desired.Settings
	mandatory *prometheus.Desc
	guarded   *prometheus.Desc
}

// NewCatalog returns a collector that reads templates and release metas from a cache. It exports nothing before leads
// is closed.
func NewCatalog(reader client.Reader, leads <-chan struct{}, settings desired.Settings) *Catalog {
	return &Catalog{
		reader: reader, leads: leads, settings: settings.WithDefaults(),
		mandatory: metrics.MandatoryModules(), guarded: metrics.RemovalsHeld(),
	}
}

// Describe implements prometheus.Collector.
func (c *Catalog) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.mandatory
	descriptions <- c.guarded
}

// collectTimeout bounds a scrape. The cache normally answers at once.
const collectTimeout = 5 * time.Second

// Collect implements prometheus.Collector.
func (c *Catalog) Collect(out chan<- prometheus.Metric) {
	if !isClosed(c.leads) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var metas v1beta2.ModuleReleaseMetaList
	var templates v1beta2.ModuleTemplateList
	var budgets v1beta2.RemovalBudgetList
	for _, list := range []client.ObjectList{&metas, &templates, &budgets} {
		if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			out <- prometheus.NewInvalidMetric(c.mandatory, err)
			return
		}
	}
	mandatory, byMeta := sets.New[string](), sets.New[string]()
	for i := range metas.Items {
		meta := &metas.Items[i]
		if !c.counts(meta) {
			continue
		}
		byMeta.Insert(desired.ReleaseMetaModule(meta))
		if meta.Spec.Mandatory != nil {
			mandatory.Insert(desired.ReleaseMetaModule(meta))
		}
		c.collectGuarded(out, shared.KindModuleReleaseMeta, meta)
	}
	for i := range templates.Items {
		template := &templates.Items[i]
		if !c.counts(template) {
			continue
		}
		if module := desired.MandatoryModuleOf(template); desired.MakesMandatory(template) && !byMeta.Has(module) {
			mandatory.Insert(module)
		}
		c.collectGuarded(out, shared.KindModuleTemplate, template)
	}
	for i := range budgets.Items {
		if b := &budgets.Items[i]; c.counts(b) && budget.IsHeld(b) {
			out <- prometheus.MustNewConstMetric(c.guarded, prometheus.GaugeValue, 1, shared.KindRemovalBudget, b.Namespace, b.Name)
		}
	}
	out <- prometheus.MustNewConstMetric(c.mandatory, prometheus.GaugeValue, float64(mandatory.Len()))
}

func (c *Catalog) counts(object client.Object) bool {
	return c.settings.Ours(object.GetLabels()) && !desired.IsSyncedCopy(object)
}

func (c *Catalog) collectGuarded(out chan<- prometheus.Metric, kind string, object client.Object) {
	if resolve.AwaitsApproval(object, c.settings) {
		out <- prometheus.MustNewConstMetric(c.guarded, prometheus.GaugeValue, 1, kind, object.GetNamespace(), object.GetName())
	}
}
