package collectors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// Values of lifecycle_mgr_clusters besides the reasons why a cluster is unreachable.
const (
	clusterReachable = "Reachable"
	clusterUnknown   = "Unknown"
	clusterOther     = "Other"
)

// Overview exports counts without a series per Kyma or Manifest: clusters by the reason why they are unreachable,
// Manifests by module, version and state, and the age of the oldest unsettled object. It follows the informers' events,
// so a scrape reads no objects and only iterates over the unsettled ones.
type Overview struct {
	leads     <-chan struct{}
	ours      func(labels map[string]string) bool
	now       func() time.Time
	reasons   []string
	following []toolscache.ResourceEventHandlerRegistration

	clusters, versions, oldest, unsettled *prometheus.Desc

	mu               sync.Mutex
	clusterOf        census[string]
	versionOf        census[moduleVersion]
	unreachable      map[string]bool
	kymas, manifests map[string]unsettled
}

// moduleVersion is a desired version of a module, and its state.
type moduleVersion struct{ module, version, state string }

// unsettled records since when an object is unsettled. If kyma is set, the object does not count while that Kyma's
// cluster is unreachable.
type unsettled struct {
	since time.Time
	kyma  string
}

// NewOverview returns a collector that follows the informers of Kymas and Manifests. It exports nothing before leads is
// closed. If now is nil, it uses time.Now.
func NewOverview(ctx context.Context, informers cache.Informers, leads <-chan struct{}, settings desired.Settings, now func() time.Time) (*Overview, error) {
	if now == nil {
		now = time.Now
	}
	o := &Overview{
		leads: leads, ours: settings.WithDefaults().Ours, now: now,
		reasons:  append(clusters.ReasonsWithoutAccess(), clusterReachable, clusterUnknown, clusterOther),
		clusters: metrics.Clusters(), versions: metrics.ModuleVersionManifests(),
		oldest: metrics.OldestUnsettled(), unsettled: metrics.Unsettled(),
		clusterOf: newCensus[string](), versionOf: newCensus[moduleVersion](),
		unreachable: map[string]bool{}, kymas: map[string]unsettled{}, manifests: map[string]unsettled{},
	}
	for kind, f := range map[client.Object]follower{
		&v1beta2.Kyma{}:     {set: o.setKyma, gone: o.forgetKyma},
		&v1beta2.Manifest{}: {set: o.setManifest, gone: o.forgetManifest},
	} {
		registration, err := follow(ctx, informers, kind, f)
		if err != nil {
			return nil, err
		}
		o.following = append(o.following, registration)
	}
	return o, nil
}

func (o *Overview) setKyma(key string, object client.Object, listed bool) {
	kyma, ok := object.(*v1beta2.Kyma)
	if !ok || !o.ours(kyma.Labels) || desired.IsSyncedCopy(kyma) {
		o.forgetKyma(key)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if reason := o.reasonOf(kyma); reason == "" {
		o.clusterOf.remove(key)
	} else {
		o.clusterOf.set(key, reason)
	}
	if o.unreachable[key] = kyma.IsMarkedUnreachable(); !o.unreachable[key] {
		delete(o.unreachable, key)
	}
	if !isUnsettledKyma(kyma) {
		delete(o.kymas, key)
		return
	}
	o.note(o.kymas, key, key, func() time.Time {
		return o.since(listed, kyma, kyma.Status.Conditions, kyma.Status.LastOperation)
	})
}

func (o *Overview) forgetKyma(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clusterOf.remove(key)
	delete(o.unreachable, key)
	delete(o.kymas, key)
}

func (o *Overview) setManifest(key string, object client.Object, listed bool) {
	m, ok := object.(*v1beta2.Manifest)
	if !ok || !o.ours(m.Labels) {
		o.forgetManifest(key)
		return
	}
	isUnsettled := isUnsettledManifest(m)
	o.mu.Lock()
	defer o.mu.Unlock()
	// An unreachable cluster does not change the recorded version.
	o.versionOf.set(key, moduleVersion{m.ModuleName(), m.Spec.Version, string(m.Status.KnownState())})
	kyma := ""
	if !desired.InControlPlane(m) {
		kyma = types.NamespacedName{Namespace: m.Namespace, Name: m.KymaName()}.String()
	}
	if !isUnsettled {
		delete(o.manifests, key)
		return
	}
	o.note(o.manifests, key, kyma, func() time.Time {
		return o.since(listed, m, m.Status.Conditions, m.Status.LastOperation)
	})
}

func (o *Overview) forgetManifest(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.versionOf.remove(key)
	delete(o.manifests, key)
}

// reasonOf returns what is known about the reachability of a Kyma's cluster; empty if the Kyma has no cluster.
func (o *Overview) reasonOf(kyma *v1beta2.Kyma) string {
	remote := kyma.Status.Remote
	switch {
	case remote == nil:
		return ""
	case remote.Reachable == nil:
		return clusterUnknown
	case *remote.Reachable:
		return clusterReachable
	case slices.Contains(o.reasons, remote.Reason):
		return remote.Reason
	default:
		return clusterOther
	}
}

// note records an unsettled object. The caller must hold mu.
func (o *Overview) note(of map[string]unsettled, key, kyma string, since func() time.Time) {
	known, ok := of[key]
	if !ok {
		known.since = since()
	}
	known.kyma = kyma
	of[key] = known
}

// since returns since when an object that became unsettled is so: now, unless it was listed.
func (o *Overview) since(listed bool, object client.Object, conditions []metav1.Condition, last *v1beta2.LastOperation) time.Time {
	if listed {
		return unsettledSince(object, conditions, last)
	}
	return o.now()
}

// unsettledSince returns since when a listed object is unsettled, as far as its status shows.
func unsettledSince(object client.Object, conditions []metav1.Condition, last *v1beta2.LastOperation) time.Time {
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		return deleted.Time
	}
	since := time.Time{}
	for _, each := range conditions {
		if at := each.LastTransitionTime.Time; each.Status != metav1.ConditionTrue && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	switch {
	case !since.IsZero():
		return since
	case last != nil && !last.LastUpdateTime.IsZero():
		return last.LastUpdateTime.Time
	default:
		return object.GetCreationTimestamp().Time
	}
}

// isUnsettledKyma reports whether work for a Kyma is in progress or due.
func isUnsettledKyma(kyma *v1beta2.Kyma) bool {
	switch {
	case kyma.IsSkipReconciliation():
		return false
	case !kyma.DeletionTimestamp.IsZero() || kyma.Generation != kyma.Status.ObservedGeneration:
		return true
	case kyma.Status.State == shared.StateReady || kyma.Status.State == shared.StateWarning:
		return false
	default:
		return !kyma.Status.WaitsForChange
	}
}

// isUnsettledManifest reports whether work for a Manifest is in progress or due.
func isUnsettledManifest(m *v1beta2.Manifest) bool {
	switch {
	case m.IsSkipReconciliation() || m.IsUnmanaged():
		return false
	case !m.DeletionTimestamp.IsZero() || !m.Status.Settled:
		return true
	default:
		return m.Generation != m.Status.ObservedGeneration
	}
}

// Describe implements prometheus.Collector.
func (o *Overview) Describe(descriptions chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{o.clusters, o.versions, o.oldest, o.unsettled} {
		descriptions <- each
	}
}

// Collect implements prometheus.Collector.
func (o *Overview) Collect(out chan<- prometheus.Metric) {
	if !isClosed(o.leads) || !allSynced(o.following) {
		return
	}
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, reason := range o.reasons {
		gauge(o.clusters, float64(o.clusterOf.count[reason]), reason)
	}
	for of, count := range o.versionOf.count {
		gauge(o.versions, float64(count), of.module, of.version, of.state)
	}
	for kind, of := range map[string]map[string]unsettled{shared.KindKyma: o.kymas, shared.KindManifest: o.manifests} {
		now, oldest, count := o.now(), time.Duration(0), 0
		for _, each := range of {
			if each.kyma == "" || !o.unreachable[each.kyma] {
				count++
				oldest = max(oldest, now.Sub(each.since))
			}
		}
		gauge(o.oldest, oldest.Seconds(), kind)
		gauge(o.unsettled, float64(count), kind)
	}
}

// census counts objects by value.
type census[K comparable] struct {
	of    map[string]K
	count map[K]int
}

func newCensus[K comparable]() census[K] { return census[K]{of: map[string]K{}, count: map[K]int{}} }

func (c census[K]) set(object string, says K) {
	if before, known := c.of[object]; known && before == says {
		return
	}
	c.remove(object)
	c.of[object] = says
	c.count[says]++
}

func (c census[K]) remove(object string) {
	said, known := c.of[object]
	if !known {
		return
	}
	delete(c.of, object)
	c.count[said]--
	if c.count[said] == 0 {
		delete(c.count, said)
	}
}
