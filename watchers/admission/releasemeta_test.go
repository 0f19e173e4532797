package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// informed returns the informers' objects: a number of Kymas that take keda from the channel regular, the first of them
// a canary, and further objects.
func informed(kymas int, objects ...client.Object) client.WithWatch {
	for i := range kymas {
		kyma := desiredtest.Kyma("keda")
		kyma.Name, kyma.UID = fmt.Sprintf("kyma-%03d", i), types.UID(fmt.Sprintf("uid-%03d", i))
		if i == 0 {
			kyma.Labels["stage"] = "canary"
		}
		objects = append(objects, kyma)
	}
	return fake.NewClientBuilder().WithScheme(desiredtest.Scheme()).WithObjects(objects...).
		WithIndex(&v1beta2.Kyma{}, desired.IndexKymaReferences, desired.KymaReferencesIndexer).
		WithIndex(&v1beta2.ModuleRollout{}, desired.IndexRolloutModule, desired.RolloutModuleIndexer).
		Build()
}

// carefully returns a policy with the stages canary, two more clusters, and the rest.
func carefully() *v1beta2.RolloutPolicy {
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: desiredtest.Namespace}}
	policy.Spec.Stages = []v1beta2.RolloutStage{
		{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}}, {Name: "two", Count: new(int32(2))},
	}
	return policy
}

// brought returns a rollout that brought a version to the channel regular.
func brought(version, policy string) *v1beta2.ModuleRollout {
	r := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Name: "to-" + version, Namespace: desiredtest.Namespace}}
	r.Spec = v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", From: "1.0.0", To: version, Policy: policy, Sequence: 1}
	return r
}

func TestAWarningDescribesTheEffectOfAnEditOfAReleaseMeta(t *testing.T) {
	pinned, beta := desiredtest.Kyma("keda"), desiredtest.Kyma("keda")
	pinned.Spec.Modules[0].Version = "1.0.0"
	beta.Name, beta.UID, beta.Labels[shared.LabelBeta] = "beta", "beta", shared.ValueTrue
	mandatory := func(version string) *v1beta2.ModuleReleaseMeta {
		meta := desiredtest.ReleaseMeta("keda")
		meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: version}
		return meta
	}
	others := brought("1.0.0", "all")
	others.Labels = map[string]string{shared.LabelManagedBy: "another"}
	for name, test := range map[string]struct {
		informers     client.Reader
		before, after *v1beta2.ModuleReleaseMeta
		want          []string
	}{
		"without a policy": {
			informers: informed(40, pinned), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 40 Kymas from keda 1.0.0 to 1.1.0 on channel regular at once"},
		},
		"one Kyma": {
			informers: informed(1), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 1 Kyma from keda 1.0.0 to 1.1.0 on channel regular at once"},
		},
		"no Kyma": {
			informers: informed(0, pinned), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves no Kyma from keda 1.0.0 to 1.1.0: there are none on channel regular"},
		},
		"under a policy": {
			informers: informed(40, carefully(), brought("1.0.0", "all")), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 40 Kymas from keda 1.0.0 to 1.1.0 on channel regular, in 3 stages: canary (1), two (2), rest (37)"},
		},
		"under a policy that has no rollout yet": {
			informers: informed(40, carefully(), others), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 40 Kymas from keda 1.0.0 to 1.1.0 on channel regular at once"},
		},
		"a rollout that was created without a policy": {
			informers: informed(40, brought("1.1.0", "")), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 40 Kymas from keda 1.0.0 to 1.1.0 on channel regular, in 1 stage: rest (40)"},
		},
		"an existing rollout of this version": {
			informers: informed(40, carefully(), brought("1.1.0", "all")), after: desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
			want: []string{"moves 40 Kymas from keda 1.0.0 to 1.1.0 on channel regular, in 1 stage: rest (40)"},
		},
		"an older version": {
			informers: informed(40), after: desiredtest.ReleaseMeta("keda", "regular=0.9.0"),
			want: []string{"moves no Kyma from keda 1.0.0 to 0.9.0, which is older: of 40 Kymas on channel regular, those that have 1.0.0 keep it"},
		},
		"several channels": {
			informers: informed(2), before: desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=1.0.0", "slow=1.0.0"),
			after: desiredtest.ReleaseMeta("keda", "fast=1.2.0", "regular=1.1.0", "slow=1.0.0"),
			want: []string{
				"moves no Kyma from keda 1.0.0 to 1.2.0: there are none on channel fast",
				"moves 2 Kymas from keda 1.0.0 to 1.1.0 on channel regular at once",
			},
		},
		"for every cluster": {
			informers: informed(3), before: mandatory("1.0.0"), after: mandatory("1.1.0"),
			want: []string{"moves 3 Kymas from keda 1.0.0 to 1.1.0 at once"},
		},
		"for Kymas that may have the module only": {
			informers: informed(3, beta), after: modified(desiredtest.ReleaseMeta("keda", "regular=1.1.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Beta = true }),
			want: []string{"moves 1 Kyma from keda 1.0.0 to 1.1.0 on channel regular at once"},
		},
		"no version":                    {informers: informed(3), after: modified(desiredtest.ReleaseMeta("keda", "regular=1.0.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Beta = true })},
		"a channel more, and one fewer": {informers: informed(3), after: desiredtest.ReleaseMeta("keda", "fast=1.1.0")},
		"of another instance": {
			informers: informed(3),
			after: modified(desiredtest.ReleaseMeta("keda", "regular=1.1.0"), func(m *v1beta2.ModuleReleaseMeta) {
				m.Labels = map[string]string{shared.LabelManagedBy: "another"}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.before == nil {
				test.before = desiredtest.ReleaseMeta("keda", "regular=1.0.0")
			}
			v := releaseMetas{settings: desired.Settings{Mode: desired.ModeSingleCluster}.WithDefaults(), cached: test.informers}
			warned, err := v.ValidateUpdate(t.Context(), test.before, test.after)
			require.NoError(t, err)
			require.Equal(t, test.want, []string(warned))
			warned, err = v.ValidateCreate(t.Context(), test.after)
			require.NoError(t, err)
			require.Empty(t, warned)
			warned, err = v.ValidateDelete(t.Context(), test.after)
			require.NoError(t, err)
			require.Empty(t, warned)
		})
	}
}

func TestAWarningNamesTheSpanOfAChange(t *testing.T) {
	for spread, want := range map[time.Duration]string{
		0:                " at once",
		5 * time.Minute:  ", spread over 5m",
		90 * time.Second: ", spread over 90s",
		4 * time.Hour:    ", spread over 4h",
	} {
		v := releaseMetas{settings: desired.Settings{Mode: desired.ModeSingleCluster, PacingSpan: spread}, cached: informed(2)}
		warned, err := v.ValidateUpdate(t.Context(), desiredtest.ReleaseMeta("keda", "regular=1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
		require.NoError(t, err)
		require.Equal(t, []string{"moves 2 Kymas from keda 1.0.0 to 1.1.0 on channel regular" + want}, []string(warned))
	}
}

func TestWarningsStayWithinTheLimitsOfTheAPIServer(t *testing.T) {
	policy := carefully()
	policy.Spec.Stages[0].Name = strings.Repeat("ä", 200)
	var before, after []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("c%02d=1.0.0", i))
		after = append(after, fmt.Sprintf("c%02d=1.1.0", i))
	}
	v := releaseMetas{settings: desired.Settings{Mode: desired.ModeSingleCluster}, cached: informed(3, policy, brought("1.0.0", "all"))}
	warned, err := v.ValidateUpdate(t.Context(), desiredtest.ReleaseMeta("keda", before...), desiredtest.ReleaseMeta("keda", after...))
	require.NoError(t, err)
	require.Len(t, warned, warningsAtMost+1)
	require.Equal(t, "moves 5 more channels", warned[warningsAtMost])

	warned, err = v.ValidateUpdate(t.Context(), desiredtest.ReleaseMeta("keda", "regular=1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
	require.NoError(t, err)
	require.Len(t, warned, 1)
	require.LessOrEqual(t, len(warned[0]), warningBytes)
	require.True(t, strings.HasPrefix(warned[0], "moves 3 Kymas") && strings.HasSuffix(warned[0], "ä…"), warned[0])
}

func TestAnEditOfAReleaseMetaPassesIfItsEffectIsUnknown(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"the informers fail": func(context.Context) error { return errors.New("no such index") },
		"they take too long": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failing := interceptor.NewClient(informed(3), interceptor.Funcs{
				List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
					return fail(ctx)
				},
			})
			warned, err := releaseMetas{cached: failing}.ValidateUpdate(t.Context(),
				desiredtest.ReleaseMeta("keda", "regular=1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.1.0"))
			require.NoError(t, err)
			require.Empty(t, warned)
		})
	}
}

func TestTheWebhookIsAskedOnlyAboutSpecEditsOfReleaseMetas(t *testing.T) {
	for _, entry := range (Options{}).webhooks() {
		if !strings.HasPrefix(entry.Name, "modulereleasemeta.") {
			continue
		}
		require.Len(t, entry.Rules, 1)
		require.Equal(t, []string{"modulereleasemetas"}, entry.Rules[0].Resources)
		require.Equal(t, "[UPDATE]", fmt.Sprint(entry.Rules[0].Operations))
		require.Equal(t, "object.spec != oldObject.spec", entry.MatchConditions[0].Expression)
		return
	}
	require.Fail(t, "there is no entry for ModuleReleaseMetas")
}
