package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// removalApprovals records who approves removals in a RemovalBudget, and when, like type approvals does for rollouts.
type removalApprovals struct{ approver }

// Default fills in the new approvals of a request, and refuses the request if the user must not give one of them.
func (a removalApprovals) Default(ctx context.Context, content *unstructured.Unstructured) error {
	before, after := &v1beta2.RemovalBudget{}, &v1beta2.RemovalBudget{}
	request, isUpdate, err := a.decode(ctx, before, after)
	if err != nil {
		return err
	}
	if !a.settings.Ours(after.Labels) || len(after.Spec.Approvals) == 0 {
		return nil
	}
	path := field.NewPath("spec", "approvals")
	if isUpdate && !a.settings.Ours(before.Labels) {
		return refused(shared.KindRemovalBudget, after, ofAnother(path, "RemovalBudget"))
	}
	added, problems := signedRemovals(path, before.Spec.Approvals, after.Spec.Approvals, request.UserInfo.Username, metav1.NewTime(a.now()))
	if len(problems) > 0 {
		return refused(shared.KindRemovalBudget, after, problems)
	}
	if len(added) > 0 {
		if err := a.mayApprove(ctx, request, shared.ResourceRemovalBudgets, strings.Join(added, ", ")); err != nil {
			return err
		}
	}
	return write(content, after.Spec.Approvals)
}

// signedRemovals sets user and time on the new approvals, and returns what they approve. Stored approvals keep their
// content and order. Leaving out an approval withdraws it.
func signedRemovals(path *field.Path, stored, asked []v1beta2.RemovalApproval, user string, now metav1.Time) (what []string, problems field.ErrorList) {
	added, missing := compared(stored, asked, user, givenForRemovals)
	for _, i := range added {
		approval := givenForRemovals(asked[i])
		if j := slices.IndexFunc(missing, func(was v1beta2.RemovalApproval) bool { return isChanged(givenForRemovals(was), approval) }); j >= 0 {
			was := givenForRemovals(missing[j])
			problems = append(problems, field.Forbidden(path.Index(i), fmt.Sprintf("must not change the approval of %s by %s, nor the order of approvals: "+
				"leave it out to take it back, and add new ones without by and at", was.what, was.by)))
			continue
		}
		asked[i].By, asked[i].At = user, &now
		what = append(what, approval.what)
	}
	return what, problems
}

func givenForRemovals(a v1beta2.RemovalApproval) given {
	what := fmt.Sprintf("removals in %d clusters", a.Clusters)
	if a.Change != "" {
		what = "change " + a.Change
	}
	return given{what, a.Reason, a.By, a.At}
}
