package admission

import (
	"context"
	"slices"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// policies validates RolloutPolicies.
type policies struct {
	permissive[*v1beta2.RolloutPolicy]
	settings desired.Settings
}

// rollouts validates ModuleRollouts. Type approvals handles their approvals.
type rollouts struct {
	permissive[*v1beta2.ModuleRollout]
	settings desired.Settings
}

// ValidateCreate refuses a policy that could not be followed.
func (v policies) ValidateCreate(_ context.Context, policy *v1beta2.RolloutPolicy) (admission.Warnings, error) {
	if passes(v.settings, policy) {
		return nil, nil
	}
	return nil, refused(shared.KindRolloutPolicy, policy, problemsOfPolicy(policy))
}

// ValidateUpdate refuses what ValidateCreate refuses. Edits that do not change the spec pass.
func (v policies) ValidateUpdate(_ context.Context, before, after *v1beta2.RolloutPolicy) (admission.Warnings, error) {
	if passes(v.settings, after) || equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	return nil, refused(shared.KindRolloutPolicy, after, problemsOfPolicy(after))
}

// ValidateCreate refuses a rollout that could not progress.
func (v rollouts) ValidateCreate(_ context.Context, rollout *v1beta2.ModuleRollout) (admission.Warnings, error) {
	if passes(v.settings, rollout) {
		return nil, nil
	}
	return nil, refused(shared.KindModuleRollout, rollout, problemsOfRollout(rollout))
}

// ValidateUpdate refuses new mistakes. A stored mistake may be in an immutable field, and must not prevent anybody from
// pausing or aborting the rollout.
func (v rollouts) ValidateUpdate(_ context.Context, before, after *v1beta2.ModuleRollout) (admission.Warnings, error) {
	if passes(v.settings, after) {
		return nil, nil
	}
	stored := problemsOfRollout(before)
	return nil, refused(shared.KindModuleRollout, after, slices.DeleteFunc(problemsOfRollout(after), func(problem *field.Error) bool {
		return slices.ContainsFunc(stored, func(old *field.Error) bool { return old.Error() == problem.Error() })
	}))
}

func problemsOfPolicy(policy *v1beta2.RolloutPolicy) field.ErrorList {
	spec := field.NewPath("spec")
	return append(unreadable(spec.Child("selector"), policy.Spec.Selector), problemsOfPlan(spec, policy.Spec.RolloutPlan)...)
}

func problemsOfRollout(rollout *v1beta2.ModuleRollout) field.ErrorList {
	spec := field.NewPath("spec")
	return slices.Concat(
		noVersion(spec.Child("from"), rollout.Spec.From),
		noVersion(spec.Child("to"), rollout.Spec.To),
		problemsOfPlan(spec.Child("plan"), rollout.Spec.Plan),
	)
}

// problemsOfPlan returns the problems of a plan that the schema cannot express.
func problemsOfPlan(path *field.Path, plan v1beta2.RolloutPlan) field.ErrorList {
	problems := append(negative(path.Child("settleWithin"), plan.SettleWithin), negative(path.Child("soak"), plan.Soak)...)
	for i, stage := range plan.Stages {
		at := path.Child("stages").Index(i)
		problems = append(problems, unreadable(at.Child("selector"), stage.Selector)...)
		problems = append(problems, negative(at.Child("settleWithin"), stage.SettleWithin)...)
		problems = append(problems, negative(at.Child("soak"), stage.Soak)...)
		if stage.Approval != nil && stage.Approval.Expires != nil && stage.Approval.Expires.Duration <= 0 {
			problems = append(problems, field.Invalid(at.Child("approval", "expires"), stage.Approval.Expires.Duration.String(),
				"must be longer than 0; leave it out to wait without a limit"))
		}
	}
	if promotion := plan.Promotion; promotion != nil {
		after := path.Child("promotion", "after")
		problems = append(problems, negative(after.Child("patch"), promotion.After.Patch)...)
		problems = append(problems, negative(after.Child("minor"), promotion.After.Minor)...)
		problems = append(problems, negative(after.Child("major"), promotion.After.Major)...)
		problems = append(problems, negative(after.Child("hotFix"), promotion.After.HotFix)...)
	}
	return problems
}

// unreadable refuses an invalid selector, because it would select nothing.
func unreadable(path *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return field.ErrorList{field.Invalid(path, selector, err.Error())}
	}
	return nil
}

func negative(path *field.Path, duration *metav1.Duration) field.ErrorList {
	if duration == nil || duration.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must not be negative")}
}

// noVersion refuses a version that a ModuleReleaseMeta could not give a channel.
func noVersion(path *field.Path, version string) field.ErrorList {
	if _, err := semver.StrictNewVersion(version); err != nil {
		return field.ErrorList{field.Invalid(path, version, "must be a semantic version such as 1.2.3: "+err.Error())}
	}
	return nil
}
