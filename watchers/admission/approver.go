package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// verbApprove is what roles give to those who may approve. To be allowed to update a ModuleRollout is not enough: whoever
// pauses one need not be one of them.
const verbApprove = "approve"

// mayApprove refuses the request of a user who must not approve; stages are those that the user approves with it.
func (a approvals) mayApprove(ctx context.Context, request admission.Request, stages []string) error {
	if len(stages) == 0 {
		return nil
	}
	user := request.UserInfo
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verbApprove, Group: v1beta2.GroupVersion.Group, Version: v1beta2.GroupVersion.Version,
			Resource: shared.ResourceModuleRollouts, Namespace: request.Namespace,
			// Empty where the name is generated later: then it takes the right for all names.
			Name: request.Name,
		},
	}}
	for key, value := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(value)
	}
	if err := a.review(ctx, review); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("ask whether user %q may approve: %w", user.Username, err))
	}
	if review.Status.Allowed {
		return nil
	}
	message := fmt.Sprintf("user %q must not approve stage %s: it takes the verb %s in namespace %s, which a Role there gives with the rule "+
		`{apiGroups: [%q], resources: [%q], verbs: [%q]}`, user.Username, strings.Join(stages, ", "), verbApprove, request.Namespace,
		v1beta2.GroupVersion.Group, shared.ResourceModuleRollouts, verbApprove)
	if review.Status.EvaluationError != "" {
		message += "; the API server could not evaluate all rules: " + review.Status.EvaluationError
	}
	return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource(shared.ResourceModuleRollouts).GroupResource(), request.Name, errors.New(message))
}
