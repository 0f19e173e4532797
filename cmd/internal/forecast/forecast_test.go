package forecast

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// noRegistry has no descriptors, because all are embedded.
type noRegistry struct{}

func (noRegistry) FetchDescriptor(context.Context, string, string, string) ([]byte, error) {
	return nil, fmt.Errorf("the registry must not be asked")
}

// fixture is a fleet with installed modules, to which objects are applied.
type fixture struct {
	t       *testing.T
	options Options
}

// newFixture returns a fleet of Kymas with the module keda of the channel regular in version 1.0.0.
func newFixture(t *testing.T, kymas int) *fixture {
	t.Helper()
	w := &fixture{t: t, options: Options{
		Settings: desired.Settings{Mode: desired.ModeSingleCluster}, Index: worker.Index,
		Planner: resolve.Options{Descriptors: noRegistry{}},
	}}
	w.options.Present = []client.Object{
		desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0"),
	}
	for i := range kymas {
		kyma := desiredtest.Kyma("keda")
		kyma.Name, kyma.UID = fmt.Sprintf("kyma-%02d", i), types.UID(fmt.Sprintf("uid-%02d", i))
		if i == 0 {
			kyma.Labels["stage"] = "canary"
		}
		w.options.Present = append(w.options.Present, kyma)
	}
	w.install()
	return w
}

// install adds the Manifests that follow from the present objects.
func (w *fixture) install() {
	w.t.Helper()
	side, err := newSide(w.t.Context(), w.options, nil)
	require.NoError(w.t, err)
	var kymas v1beta2.KymaList
	require.NoError(w.t, side.Snapshot.List(w.t.Context(), &kymas))
	for i := range kymas.Items {
		view, err := side.Planner.View(w.t.Context(), &kymas.Items[i], nil, nil, nil)
		require.NoError(w.t, err)
		for _, plan := range view.Modules {
			require.NotNil(w.t, plan.Manifest, "%+v", plan.Refusal)
			w.options.Present = append(w.options.Present, plan.Manifest)
			for _, present := range w.options.Present {
				if kyma, isKyma := present.(*v1beta2.Kyma); isKyma && kyma.Name == kymas.Items[i].Name {
					kyma.Status.Planned = append(kyma.Status.Planned, *plan.Record)
				}
			}
		}
	}
}

func (w *fixture) forecast(applied ...client.Object) Forecast {
	w.t.Helper()
	w.options.Applied = applied
	found, err := Make(w.t.Context(), w.options)
	require.NoError(w.t, err)
	return found
}

func TestApplyingPresentObjectsChangesNothing(t *testing.T) {
	w := newFixture(t, 10)
	found := w.forecast(desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	require.True(t, found.IsEmpty(), "%+v", found)
	require.Equal(t, 10, found.Kymas)
	text := &bytes.Buffer{}
	require.NoError(t, found.WriteText(text))
	require.Equal(t, "nothing would change for 10 Kymas\n", text.String())
}

func TestAChannelThatMovesUpgradesItsKymas(t *testing.T) {
	w := newFixture(t, 10)
	found := w.forecast(desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
	require.Equal(t, []Group{{
		Module: "keda", Kind: Upgraded, From: "1.0.0", To: "1.1.0", Kymas: 10,
		Names: []string{"kcp-system/kyma-00", "kcp-system/kyma-01", "kcp-system/kyma-02", "kcp-system/kyma-03", "kcp-system/kyma-04"},
	}}, found.Groups)
	require.Equal(t, 10, found.Changed)
}

func TestAVersionThatDoesNotExistIsRefused(t *testing.T) {
	found := newFixture(t, 3).forecast(desiredtest.ReleaseMeta("keda", "regular=2.0.0"))
	require.Len(t, found.Groups, 1)
	require.Equal(t, Refused, found.Groups[0].Kind)
	require.Equal(t, "ModuleTemplateNotFound", found.Groups[0].Reason)
	require.Equal(t, "1.0.0", found.Groups[0].To, "the installed version stays")
	require.Equal(t, "no ModuleTemplate found for module keda in version 2.0.0: publish ModuleTemplate keda-2.0.0", found.Groups[0].Hint)
	require.Contains(t, text(t, found), ": publish ModuleTemplate keda-2.0.0)\n")
}

func TestADowngradeIsRefused(t *testing.T) {
	w := newFixture(t, 2)
	found := w.forecast(desiredtest.Template("keda", "0.9.0"), desiredtest.ReleaseMeta("keda", "regular=0.9.0"))
	require.Len(t, found.Groups, 1)
	require.Equal(t, "DowngradeRefused", found.Groups[0].Reason)
}

func TestAnAppliedKymaGetsItsModules(t *testing.T) {
	w := newFixture(t, 2)
	another := desiredtest.Kyma("keda")
	another.Name, another.UID = "another", ""
	gone := desiredtest.Kyma()
	gone.Name = "kyma-00"
	found := w.forecast(another, gone)
	require.Equal(t, []Group{
		{Module: "keda", Kind: Added, To: "1.0.0", Kymas: 1, Names: []string{"kcp-system/another"}},
		{Module: "keda", Kind: Removed, From: "1.0.0", Kymas: 1, Names: []string{"kcp-system/kyma-00"}},
	}, found.Groups)
}

func TestAVersionUnderAPolicyGoesThroughItsStages(t *testing.T) {
	w := newFixture(t, 40)
	two := int32(2)
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: desiredtest.Namespace}}
	policy.Spec.Stages = []v1beta2.RolloutStage{
		{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}}, {Name: "two", Count: &two},
	}
	first := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: desiredtest.Namespace, UID: "first"}}
	first.Spec = v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.0.0", Policy: "all", Sequence: 1}
	first.Status.Phase, first.Status.Stage = v1beta2.RolloutCompleted, 1
	w.options.Present = append(w.options.Present, policy, first)
	found := w.forecast(desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
	require.Len(t, found.Groups, 1, "%+v", found.Groups)
	require.Equal(t, []StageSize{{Name: "canary", Kymas: 1}, {Name: "two", Kymas: 2}, {Name: "rest", Kymas: 37}}, found.Groups[0].Stages)
	text := &bytes.Buffer{}
	require.NoError(t, found.WriteText(text))
	require.Contains(t, text.String(), "keda 1.1.0 goes through 3 stages: canary (1), two (2), rest (37)")
	require.Empty(t, found.Holds)

	// All Kymas refuse a version that does not exist.
	found = w.forecast(desiredtest.ReleaseMeta("keda", "regular=2.0.0"))
	require.Equal(t, []string{"keda 2.0.0: 1 of 1 Kymas of stage canary refuse it, 0 may fail"}, found.Holds)
	require.NoError(t, found.WriteText(text))
	require.Contains(t, text.String(), "would be held: keda 2.0.0: 1 of 1 Kymas of stage canary refuse it, 0 may fail")
	all := intstr.FromString("100%")
	policy.Spec.MaxFailures = &all
	require.Equal(t, []string{"keda 2.0.0: 40 Kymas refuse it for the same reason"}, w.forecast(desiredtest.ReleaseMeta("keda", "regular=2.0.0")).Holds)
	w.options.SameFailures = 41
	require.Empty(t, w.forecast(desiredtest.ReleaseMeta("keda", "regular=2.0.0")).Holds)
}

func TestTheWaitOfAPromotionIsForecast(t *testing.T) {
	const regular = "keda 1.1.0 of channel regular waits for the clusters to stay well for 168h0m0s, before channel slow gets the version, a minor change"
	const urgent = "keda 1.1.0 of channel regular waits for the clusters to stay well for 1h0m0s instead of 168h0m0s, before channel slow gets the version, a minor change and a hot-fix"
	w := newFixture(t, 2)
	plan := v1beta2.RolloutPlan{Promotion: &v1beta2.RolloutPromotion{
		Channels: []string{"regular", "slow"}, After: v1beta2.PromotionTimes{HotFix: &metav1.Duration{Duration: time.Hour}},
	}}
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: desiredtest.Namespace}}
	policy.Spec.RolloutPlan = plan
	first := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: desiredtest.Namespace, UID: "first"}}
	first.Spec = v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.0.0", Policy: "all", Sequence: 1, Plan: plan}
	first.Status.Phase, first.Status.Stage = v1beta2.RolloutCompleted, 1
	w.options.Present = append(w.options.Present, policy, first)
	meta, hotFix := desiredtest.ReleaseMeta("keda", "regular=1.1.0", "slow=1.0.0"), desiredtest.Template("keda", "1.1.0")
	hotFix.Annotations[shared.AnnotationPriority] = shared.PriorityHotFix
	text := &bytes.Buffer{}
	require.Equal(t, []string{regular}, w.forecast(meta).Promotions)
	found := w.forecast(meta, hotFix)
	require.Equal(t, []string{urgent}, found.Promotions)
	require.NoError(t, found.WriteText(text))
	require.Contains(t, text.String(), "\npromotion: "+urgent+"\n")

	// The promotion of a completed rollout already waits.
	second := first.DeepCopy()
	second.Name, second.UID, second.Spec.To, second.Spec.Sequence = "second", "second", "1.1.0", 2
	w.options.Present = slices.DeleteFunc(w.options.Present, func(object client.Object) bool {
		_, isManifest := object.(*v1beta2.Manifest)
		_, isMeta := object.(*v1beta2.ModuleReleaseMeta)
		return isManifest || isMeta
	})
	w.options.Present = append(w.options.Present, second, meta)
	w.install()
	require.Empty(t, w.forecast(meta).Promotions)
	found = w.forecast(hotFix)
	require.Empty(t, found.Groups)
	require.False(t, found.IsEmpty())
	text.Reset()
	require.NoError(t, found.WriteText(text))
	require.Equal(t, "nothing would change for 2 Kymas\npromotion: "+urgent+"\n", text.String())
}

func TestAFileIsParsedAsStrictlyAsByTheAPIServer(t *testing.T) {
	const meta = "apiVersion: operator.kyma-project.io/v1beta2\nkind: ModuleReleaseMeta\nmetadata: {name: keda}\nspec: {moduleName: keda}\n"
	found, err := Decode(desiredtest.Scheme(), []byte("---\n"+meta+"---\n"), "kcp-system")
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "kcp-system", found[0].GetNamespace())
	for name, content := range map[string]string{
		"a field that is unknown": meta + "status: {a: b}\n",
		"another kind of ours":    "apiVersion: operator.kyma-project.io/v1beta2\nkind: Manifest\nmetadata: {name: a}\n",
		"a kind of others":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"no kind that is known":   "apiVersion: example.com/v1\nkind: A\n",
		"no YAML":                 "{",
	} {
		_, err := Decode(desiredtest.Scheme(), []byte(content), "kcp-system")
		require.Error(t, err, name)
	}
}
