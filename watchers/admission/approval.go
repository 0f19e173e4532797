package admission

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// approvals records who approves a stage of a ModuleRollout, and when, and refuses approvals that must not be given.
// The objects are unstructured. A patch made from our types would rewrite other fields as well, such as 1h as 1h0m0s,
// and would make the approving user the field manager of the plan.
type approvals struct{ approver }

// Default fills in the new approvals of a request, and refuses the request if one of them must not be given.
func (a approvals) Default(ctx context.Context, content *unstructured.Unstructured) error {
	before, after := &v1beta2.ModuleRollout{}, &v1beta2.ModuleRollout{}
	request, isUpdate, err := a.decode(ctx, before, after)
	if err != nil {
		return err
	}
	// Only the label counts. The same request could mark the object as a copy or as being deleted.
	if !a.settings.Ours(after.Labels) {
		return nil
	}
	if isUpdate && !equality.Semantic.DeepEqual(before.Spec.Plan.Stages, after.Spec.Plan.Stages) {
		return refused(shared.KindModuleRollout, after, field.ErrorList{field.Forbidden(field.NewPath("spec", "plan", "stages"),
			"must not change after the rollout was created: change its policy for the next rollout, or delete this rollout")})
	}
	if isUpdate && !equality.Semantic.DeepEqual(before.Spec.Plan.Promotion, after.Spec.Plan.Promotion) {
		return refused(shared.KindModuleRollout, after, field.ErrorList{field.Forbidden(field.NewPath("spec", "plan", "promotion"),
			"must not change, because it defines what must be approved: change the policy for the next rollout, or end the promotion with spec.abort")})
	}
	if len(after.Spec.Approvals) == 0 {
		return nil
	}
	path := field.NewPath("spec", "approvals")
	if isUpdate && !a.settings.Ours(before.Labels) {
		return refused(shared.KindModuleRollout, after, ofAnother(path, "rollout"))
	}
	added, problems := signed(path, before.Spec.Approvals, after, request.UserInfo.Username, metav1.NewTime(a.now()))
	if len(problems) > 0 {
		return refused(shared.KindModuleRollout, after, problems)
	}
	if len(added) > 0 {
		if err := a.mayApprove(ctx, request, shared.ResourceModuleRollouts, "stage "+strings.Join(added, ", ")); err != nil {
			return err
		}
	}
	return write(content, after.Spec.Approvals)
}

// write sets the approvals in the object as it was sent, and leaves the rest of it unchanged. The object must have as
// many approvals as given.
func write[A any](content *unstructured.Unstructured, given []A) error {
	entries, _, err := unstructured.NestedSlice(content.Object, "spec", "approvals")
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	for i := range entries {
		entry, ok := entries[i].(map[string]any)
		if !ok {
			return apierrors.NewBadRequest(fmt.Sprintf("spec.approvals[%d] is not an object", i))
		}
		filled, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&given[i])
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		maps.Copy(entry, filled)
	}
	if err := unstructured.SetNestedSlice(content.Object, entries, "spec", "approvals"); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}
