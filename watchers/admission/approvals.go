package admission

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// signed sets user and time on the new approvals of a rollout, whatever the request claims, and returns the stages that
// they are for. Stored approvals keep their content and order. Leaving out an approval withdraws it.
func signed(path *field.Path, stored []v1beta2.RolloutApproval, r *v1beta2.ModuleRollout, user string, now metav1.Time) (stages []string, problems field.ErrorList) {
	asked := r.Spec.Approvals
	added, missing := compared(stored, asked, user, givenForStage)
	persons := map[string][]string{} // by stage
	for i, approval := range asked {
		if !slices.Contains(added, i) {
			persons[approval.Stage] = append(persons[approval.Stage], approval.By)
		}
	}
	for _, i := range added {
		approval, at := &asked[i], path.Index(i)
		if j := slices.IndexFunc(missing, func(was v1beta2.RolloutApproval) bool { return isChanged(givenForStage(was), givenForStage(*approval)) }); j >= 0 {
			problems = append(problems, field.Forbidden(at, fmt.Sprintf("must not change the approval of stage %s by %s, nor the order of approvals: "+
				"leave it out to take it back, and add new ones without by and at", missing[j].Stage, missing[j].By)))
			continue
		}
		if why := notToApprove(r.Spec.Plan, approval.Stage); why != "" {
			problems = append(problems, field.Invalid(at.Child("stage"), approval.Stage, why))
			continue
		}
		if slices.Contains(persons[approval.Stage], user) {
			problems = append(problems, field.Forbidden(at, fmt.Sprintf("%s has approved stage %s already: another person must give the next approval", user, approval.Stage)))
			continue
		}
		approval.By, approval.At = user, &now
		persons[approval.Stage] = append(persons[approval.Stage], user)
		stages = append(stages, approval.Stage)
	}
	return stages, problems
}

// given holds the common fields of all kinds of approvals.
type given struct {
	what, reason, by string
	at               *metav1.Time
}

func givenForStage(a v1beta2.RolloutApproval) given { return given{a.Stage, a.Reason, a.By, a.At} }

// compared returns the positions of approvals that are not stored, and the stored approvals that the request leaves
// out. If a user sends an own approval again as originally written, as tools that apply a file do, compared fills in
// the stored one.
func compared[A any](stored, asked []A, user string, of func(A) given) (added []int, missing []A) {
	rest := stored
	for i := range asked {
		approval := of(asked[i])
		j := slices.IndexFunc(rest, func(one A) bool {
			was := of(one)
			again := approval.by == "" && approval.at == nil && was.by == user
			return was.what == approval.what && was.reason == approval.reason &&
				(again || was.by == approval.by && was.at.Equal(approval.at))
		})
		if j < 0 {
			added = append(added, i)
			continue
		}
		asked[i] = rest[j]
		missing, rest = append(missing, rest[:j]...), rest[j+1:]
	}
	return added, append(missing, rest...)
}

// isChanged reports whether an approval can only be meant as a change of a stored one, because two of three fields are
// the same.
func isChanged(was, is given) bool {
	what := was.what == is.what
	by := is.by != "" && was.by == is.by
	at := is.at != nil && was.at.Equal(is.at)
	return what && by || what && at || by && at
}

// notToApprove returns why a stage cannot be approved; empty if it can.
func notToApprove(plan v1beta2.RolloutPlan, name string) string {
	var all, approvable []string
	for _, stage := range rollout.Stages(plan) {
		all = append(all, stage.Name)
		if stage.Approval != nil {
			approvable = append(approvable, stage.Name)
		}
	}
	if plan.Promotion != nil {
		all, approvable = append(all, rollout.ApprovePromotion), append(approvable, rollout.ApprovePromotion)
	}
	switch {
	case slices.Contains(approvable, name):
		return ""
	case !slices.Contains(all, name):
		return "the plan has no such stage; it has " + strings.Join(all, ", ")
	case len(approvable) == 0:
		return "no stage of the plan needs an approval"
	default:
		return "this stage needs no approval; those that do are " + strings.Join(approvable, ", ")
	}
}
