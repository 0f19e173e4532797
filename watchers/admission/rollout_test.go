package admission

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

func taking(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// unreadableSelector returns a selector with an unknown operator.
func unreadableSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "region", Operator: "Is", Values: []string{"eu"}}}}
}

// mistakes returns mistakes of plans, by the problem that is reported below the path of the plan.
func mistakes() map[string]func(*v1beta2.RolloutPlan) {
	return map[string]func(*v1beta2.RolloutPlan){
		`settleWithin: Invalid value: "-1m0s": must not be negative`:           func(p *v1beta2.RolloutPlan) { p.SettleWithin = taking(-time.Minute) },
		`soak: Invalid value: "-1h0m0s": must not be negative`:                 func(p *v1beta2.RolloutPlan) { p.Soak = taking(-time.Hour) },
		`stages[1].soak: Invalid value: "-1s": must not be negative`:           func(p *v1beta2.RolloutPlan) { p.Stages[1].Soak = taking(-time.Second) },
		`stages[2].settleWithin: Invalid value: "-1s": must not be negative`:   func(p *v1beta2.RolloutPlan) { p.Stages[2].SettleWithin = taking(-time.Second) },
		`stages[1].approval.expires: Invalid value: "0s": must be longer than`: func(p *v1beta2.RolloutPlan) { p.Stages[1].Approval.Expires = taking(0) },
		`stages[3].approval.expires: Invalid value: "-1s": must be longer`:     func(p *v1beta2.RolloutPlan) { p.Stages[3].Approval.Expires = taking(-time.Second) },
		`promotion.after.patch: Invalid value: "-1h0m0s": must not be`:         func(p *v1beta2.RolloutPlan) { p.Promotion.After.Patch = taking(-time.Hour) },
		`promotion.after.minor: Invalid value: "-1h0m0s": must not be`:         func(p *v1beta2.RolloutPlan) { p.Promotion.After.Minor = taking(-time.Hour) },
		`promotion.after.major: Invalid value: "-1h0m0s": must not be`:         func(p *v1beta2.RolloutPlan) { p.Promotion.After.Major = taking(-time.Hour) },
		`promotion.after.hotFix: Invalid value: "-1h0m0s": must not be`:        func(p *v1beta2.RolloutPlan) { p.Promotion.After.HotFix = taking(-time.Hour) },
		`stages[0].selector: Invalid value: {"matchExpressions":`:              func(p *v1beta2.RolloutPlan) { p.Stages[0].Selector = unreadableSelector() },
	}
}

// planned returns a policy with the plan of inStages.
func planned(change func(*v1beta2.RolloutPolicy)) *v1beta2.RolloutPolicy {
	policy := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: "kcp-system"}, Spec: v1beta2.RolloutPolicySpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, RolloutPlan: sound(),
	}}
	change(policy)
	return policy
}

// sound returns a plan without mistakes. Its approval rules are not shared with other plans.
func sound() v1beta2.RolloutPlan {
	plan := *inStages().Spec.Plan.DeepCopy()
	plan.SettleWithin, plan.Soak = taking(0), taking(time.Hour)
	plan.Stages[1].Approval.Expires = taking(time.Hour)
	plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{"fast", "regular"}, After: v1beta2.PromotionTimes{Patch: taking(0), Minor: taking(time.Hour)}}
	return plan
}

func TestRolloutPolicies(t *testing.T) {
	ctx, none := context.Background(), func(*v1beta2.RolloutPolicy) {}
	_, err := policies{}.ValidateCreate(ctx, planned(none))
	require.NoError(t, err)
	_, err = policies{}.ValidateCreate(ctx, &v1beta2.RolloutPolicy{})
	require.NoError(t, err, "all fields are optional")
	wrong := map[string]func(*v1beta2.RolloutPolicy){
		`spec.selector: Invalid value: {"matchExpressions":[{"key":"region","operator":"Is","values":["eu"]}]}: "Is" is not a valid label selector operator`: func(p *v1beta2.RolloutPolicy) {
			p.Spec.Selector = unreadableSelector()
		},
	}
	for refused, change := range mistakes() {
		wrong["spec."+refused] = func(p *v1beta2.RolloutPolicy) { change(&p.Spec.RolloutPlan) }
	}
	for refused, change := range wrong {
		t.Run(refused, func(t *testing.T) {
			_, err := policies{}.ValidateCreate(ctx, planned(change))
			require.True(t, apierrors.IsInvalid(err), "the answer has the form of the API server's own")
			require.ErrorContains(t, err, refused)
			_, err = policies{}.ValidateUpdate(ctx, planned(none), planned(change))
			require.ErrorContains(t, err, refused)
			_, err = policies{}.ValidateUpdate(ctx, planned(change), planned(none))
			require.NoError(t, err, "a stored mistake can be fixed")
			_, err = policies{}.ValidateUpdate(ctx, planned(change), modified(planned(change), func(p *v1beta2.RolloutPolicy) { p.Labels = map[string]string{"a": "b"} }))
			require.NoError(t, err, "a stored mistake does not prevent adding a label")
		})
	}
}

func TestModuleRollouts(t *testing.T) {
	ctx := context.Background()
	with := func(changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
		r := inStages()
		r.Spec.Plan = sound()
		for _, change := range changes {
			change(r)
		}
		return r
	}
	_, err := rollouts{}.ValidateCreate(ctx, with())
	require.NoError(t, err)
	_, err = rollouts{}.ValidateCreate(ctx, with(func(r *v1beta2.ModuleRollout) { r.Spec.To = "1.1.0-rc.1+build" }))
	require.NoError(t, err)
	wrong := map[string]func(*v1beta2.ModuleRollout){
		`spec.from: Invalid value: "1.0": must be a semantic version such as 1.2.3`:  func(r *v1beta2.ModuleRollout) { r.Spec.From = "1.0" },
		`spec.to: Invalid value: "latest": must be a semantic version such as 1.2.3`: func(r *v1beta2.ModuleRollout) { r.Spec.To = "latest" },
	}
	for refused, change := range mistakes() {
		wrong["spec.plan."+refused] = func(r *v1beta2.ModuleRollout) { change(&r.Spec.Plan) }
	}
	pause := func(r *v1beta2.ModuleRollout) { r.Spec.Paused = true }
	for refused, change := range wrong {
		t.Run(refused, func(t *testing.T) {
			_, err := rollouts{}.ValidateCreate(ctx, with(change))
			require.True(t, apierrors.IsInvalid(err), "the answer has the form of the API server's own")
			require.ErrorContains(t, err, refused)
			_, err = rollouts{}.ValidateUpdate(ctx, with(), with(change))
			require.ErrorContains(t, err, refused)
			_, err = rollouts{}.ValidateUpdate(ctx, with(change), with(change, pause))
			require.NoError(t, err, "a stored mistake may be in an immutable field")
			_, err = rollouts{}.ValidateUpdate(ctx, with(change), with(change, func(r *v1beta2.ModuleRollout) { r.Spec.Plan.Soak = taking(-time.Millisecond) }))
			require.ErrorContains(t, err, "spec.plan.soak", "a stored mistake does not permit another one")
		})
	}
}

func TestObjectsOfOthersPass(t *testing.T) {
	for name, change := range map[string]func(metav1.Object){
		"a copy":              func(o metav1.Object) { o.SetAnnotations(map[string]string{desired.AnnotationSyncedFrom: "a/b"}) },
		"of another instance": func(o metav1.Object) { o.SetLabels(map[string]string{shared.LabelManagedBy: "another"}) },
		"going away":          func(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) },
	} {
		t.Run(name, func(t *testing.T) {
			policy := planned(func(p *v1beta2.RolloutPolicy) { p.Spec.Soak = taking(-time.Hour) })
			rollout := modified(inStages(), func(r *v1beta2.ModuleRollout) { r.Spec.From = "latest" })
			change(policy)
			change(rollout)
			_, err := policies{}.ValidateCreate(context.Background(), policy)
			require.NoError(t, err)
			_, err = policies{}.ValidateUpdate(context.Background(), planned(func(*v1beta2.RolloutPolicy) {}), policy)
			require.NoError(t, err)
			_, err = rollouts{}.ValidateCreate(context.Background(), rollout)
			require.NoError(t, err)
			_, err = rollouts{}.ValidateUpdate(context.Background(), inStages(), rollout)
			require.NoError(t, err)
		})
	}
}

func TestAnAnswerHasABoundedSize(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	var problems field.ErrorList
	for i := range 1000 {
		problems = append(problems, field.Invalid(field.NewPath("spec").Index(i), long, long), field.Invalid(field.NewPath(long), []string{long}, "is bad"))
	}
	require.NoError(t, refused("Kyma", &v1beta2.Kyma{}, nil))
	err := refused("Kyma", &v1beta2.Kyma{}, problems)
	require.ErrorContains(t, err, "and 1980 more problems")
	require.Less(t, len(err.Error()), 64<<10)
	require.ErrorContains(t, refused("Kyma", &v1beta2.Kyma{}, field.ErrorList{field.Invalid(field.NewPath("spec"), 7, "is odd")}), "spec: Invalid value: 7: is odd")
}
