package sweep

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const modulesPerKyma = 3

// idleFleet returns n Kymas with three modules each, their Manifests, the catalog, and their open workflows. Nothing
// differs in this fleet.
func idleFleet(tb testing.TB, n int) ([]client.Object, Open) {
	tb.Helper()
	var templates []v1beta2.ModuleTemplate
	var objects []client.Object
	for m := range modulesPerKyma {
		name := fmt.Sprintf("module-%d", m)
		template, meta := desiredtest.Template(name, "1.2.3"), desiredtest.ReleaseMeta(name, "regular=1.2.3")
		template.UID, meta.UID = types.UID("template-"+name), types.UID("meta-"+name)
		templates = append(templates, *template)
		objects = append(objects, template, meta)
	}
	known := desired.Inputs{Index: desired.NewCached(desiredtest.NewCluster("cp", objects...)), Secrets: noSecrets{}}
	open, began := Open{}, time.Now().Add(-time.Hour)
	for i := range n {
		kyma := idleKyma(i)
		for m := range modulesPerKyma {
			manifest := idleManifest(kyma, m)
			kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: manifest.ModuleName(), CustomResourcePolicy: v1beta2.CustomResourcePolicyCreateAndDelete})
			kyma.Status.Modules = append(kyma.Status.Modules, v1beta2.ModuleStatus{
				Name: manifest.ModuleName(), FQDN: "kyma-project.io/module/" + manifest.ModuleName(), Channel: "regular", Version: "1.2.3", State: shared.StateReady,
				Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: manifest.Name, Namespace: manifest.Namespace}},
				Template: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: templates[m].Name, Namespace: templates[m].Namespace}},
				Resource: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "default", Namespace: "kyma-system"}},
			})
			kyma.Status.Manifests = append(kyma.Status.Manifests, manifest.Name)
			objects = append(objects, manifest)
		}
		digest, err := known.Digest(tb.Context(), kyma)
		require.NoError(tb, err)
		kyma.Status.InputsDigest = digest
		open[kick.KymaWorkflowID(kick.RefOf(kyma))] = began
		objects = append(objects, kyma)
	}
	return objects, open
}

func idleKyma(i int) *v1beta2.Kyma {
	kyma := quietKyma()
	kyma.Name, kyma.UID, kyma.Generation = fmt.Sprintf("kyma-%05d", i), types.UID(fmt.Sprintf("5b0e3a52-7c1d-4c0e-9d3f-%012d", i)), 1
	kyma.Finalizers = []string{shared.FinalizerKyma}
	kyma.Labels = map[string]string{
		"kyma-project.io/instance-id": string(kyma.UID), "kyma-project.io/region": "eu-west-1",
		"kyma-project.io/broker-plan-name": "plan", "kyma-project.io/global-account-id": "account",
	}
	kyma.Annotations = map[string]string{shared.AnnotationSKRDomain: fmt.Sprintf("c-%05d.example.com", i)}
	kyma.Spec.Channel, kyma.Status.State, kyma.Status.Modules = "regular", shared.StateReady, nil
	for _, kind := range []string{"Modules", "ModuleCatalog", "SKRWebhook"} {
		kyma.Status.Conditions = append(kyma.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Ready", Message: "as it is wanted"})
	}
	return kyma
}

func idleManifest(kyma *v1beta2.Kyma, module int) *v1beta2.Manifest {
	m := quietManifest()
	m.Name, m.UID = fmt.Sprintf("%s-module-%d", kyma.Name, module), types.UID(fmt.Sprintf("m%d-%s", module, kyma.UID))
	m.Labels = map[string]string{shared.LabelKymaName: kyma.Name, shared.LabelModuleName: fmt.Sprintf("module-%d", module)}
	m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = kyma.Name, kyma.UID
	m.Status.InputsDigest = manifests.InputsDigest(m)
	return m
}

type noSecrets struct{}

func (noSecrets) Secrets(context.Context, string, string) ([]desired.SecretVersion, error) {
	return nil, nil
}

// steady fakes remote clusters in which nothing ever differs. It counts the probes and kicks it receives.
type steady struct {
	*fixture
	asked, kicked atomic.Int64
}

func (s *steady) Probe(context.Context, *v1beta2.Kyma, bool) (bool, string, error) {
	s.asked.Add(1)
	return false, "", nil
}

func (s *steady) Kyma(context.Context, kick.Ref, kick.Kick) error {
	s.kicked.Add(1)
	return nil
}

func (s *steady) Manifest(context.Context, kick.Ref, kick.Ref, kick.Kick) error {
	s.kicked.Add(1)
	return nil
}

func (s *steady) SignalOpen(context.Context, string, kick.Kick) error {
	s.kicked.Add(1)
	return nil
}

// idleActivities returns activities that walk an idle fleet of n Kymas, held in informers.
func idleActivities(tb testing.TB, n int) (*Activities, *steady, *fleettest.Cache) {
	tb.Helper()
	objects, open := idleFleet(tb, n)
	held := fleettest.NewCache(tb, desiredtest.Scheme(), objects...)
	require.NoError(tb, desired.RegisterIndexes(tb.Context(), held))
	held.Hold(tb, &v1beta2.Kyma{}, &v1beta2.Manifest{}, &v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{})
	held.Run(tb)
	s := &steady{fixture: quiet()}
	s.open = open
	a, err := New(Options{
		Interval: time.Nanosecond, Fleet: held, Live: held, Remote: s, Modules: moduleProbe{s.fixture}, Marks: s, Kicks: s, Open: s,
		Inputs:    desired.Inputs{Index: desired.NewCached(held), Secrets: noSecrets{}},
		KickLimit: rate.NewLimiter(rate.Inf, 1),
	})
	require.NoError(tb, err)
	return a, s, held
}

// pass walks every shard once.
func pass(tb testing.TB, a *Activities) {
	tb.Helper()
	for shard := range a.options.Shards {
		w := &walk{Activities: a, shard: shard, at: cursor{Started: a.options.Now()}}
		require.NoError(tb, w.run(tb.Context(), nil, func(cursor) {}))
	}
}

// BenchmarkPass measures one pass of the sweep over 10,000 Kymas in which nothing differs, without the requests to
// clusters: once complete, and once without computing the inputs digests.
func BenchmarkPass(b *testing.B) {
	const kymas = 10_000
	a, s, _ := idleActivities(b, kymas)
	measure := func(b *testing.B) {
		b.Helper()
		s.asked.Store(0)
		b.ReportAllocs()
		for b.Loop() {
			pass(b, a)
		}
		require.EqualValues(b, b.N*kymas, s.asked.Load())
		require.Zero(b, s.kicked.Load())
	}
	b.Run("all", measure)
	a.options.Inputs = recorded{}
	b.Run("without-digest", measure)
}

// recorded returns the recorded inputs digest without computing it.
type recorded struct{}

func (recorded) Digest(_ context.Context, kyma *v1beta2.Kyma) (string, error) {
	return kyma.Status.InputsDigest, nil
}

func (recorded) Delisted(context.Context, *v1beta2.Kyma, []v1beta2.Manifest) (string, error) {
	return "", nil
}
