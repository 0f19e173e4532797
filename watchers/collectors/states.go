package collectors

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// States exports the states of Kymas, their modules and mandatory modules (docs/contract.md#metrics). Each Kyma and
// each module has one series, for its present state, with the value 1. States follows the informers' events, so a
// scrape reads no objects. Every process with watchers follows them, but only the leader exports them. Nothing is thus
// counted twice, and a new leader is complete at once.
type States struct {
	leads <-chan struct{}
	ours  func(labels map[string]string) bool

	kymas, modules, mandatory *metrics.Family
	objects                   *seriesByObject
	following                 []toolscache.ResourceEventHandlerRegistration
}

// NewStates returns a collector that follows the informers of Kymas and Manifests. It exports nothing before leads is
// closed.
func NewStates(ctx context.Context, informers cache.Informers, leads <-chan struct{}, settings desired.Settings) (*States, error) {
	s := &States{
		leads: leads, ours: settings.WithDefaults().Ours, objects: newSeriesByObject(),
		kymas:     metrics.KymaStates(),
		modules:   metrics.ModuleStates(),
		mandatory: metrics.MandatoryModuleStates(),
	}
	for kind, of := range map[client.Object]func(client.Object) []series{&v1beta2.Kyma{}: s.ofKyma, &v1beta2.Manifest{}: s.ofManifest} {
		if err := s.follow(ctx, informers, kind, of); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// follow maintains the series of the objects of a kind.
func (s *States) follow(ctx context.Context, informers cache.Informers, kind client.Object, of func(client.Object) []series) error {
	registration, err := follow(ctx, informers, kind, follower{
		set: func(key string, object client.Object, _ bool) {
			s.objects.set(fmt.Sprintf("%T/%s", kind, key), of(object)...)
		},
		gone: func(key string) { s.objects.set(fmt.Sprintf("%T/%s", kind, key)) },
	})
	if err != nil {
		return err
	}
	s.following = append(s.following, registration)
	return nil
}

// ofKyma returns the series of a Kyma and its modules.
func (s *States) ofKyma(object client.Object) []series {
	kyma, ok := object.(*v1beta2.Kyma)
	if !ok || !s.ours(kyma.Labels) || desired.IsSyncedCopy(kyma) {
		return nil
	}
	shoot, instance := shootOf(kyma), kyma.InstanceID()
	found := make([]series, 0, 1+len(kyma.Status.Modules))
	found = append(found, seriesOf(s.kymas, instance, kyma.Name, shoot, string(kyma.Status.State)))
	for _, module := range kyma.Status.Modules {
		found = append(found, seriesOf(s.modules, instance, kyma.Name, module.Name, shoot, string(module.State)))
	}
	return found
}

// ofManifest returns the series of a mandatory module, which no Kyma's status shows.
func (s *States) ofManifest(object client.Object) []series {
	m, ok := object.(*v1beta2.Manifest)
	if !ok || m.Labels[shared.LabelMandatoryModule] != shared.ValueTrue || !s.ours(m.Labels) {
		return nil
	}
	return []series{seriesOf(s.mandatory, m.KymaName(), m.ModuleName(), string(m.Status.State))}
}

func (s *States) families() []*metrics.Family {
	return []*metrics.Family{s.kymas, s.modules, s.mandatory}
}

// Describe implements prometheus.Collector.
func (s *States) Describe(descriptions chan<- *prometheus.Desc) {
	for _, each := range s.families() {
		each.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (s *States) Collect(out chan<- prometheus.Metric) {
	if !isClosed(s.leads) || !allSynced(s.following) {
		return
	}
	for _, each := range s.families() {
		each.Collect(out)
	}
}

// shootOf returns the name of the remote cluster, which is the first part of its domain.
func shootOf(kyma *v1beta2.Kyma) string {
	name, _, _ := strings.Cut(kyma.Annotations[shared.AnnotationSKRDomain], ".")
	return name
}
