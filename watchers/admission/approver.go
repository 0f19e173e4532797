package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// approver is what approvals of all kinds are judged with.
type approver struct {
	settings desired.Settings
	decoder  admission.Decoder
	now      func() time.Time
	// review has the API server answer a SubjectAccessReview.
	review func(context.Context, *authorizationv1.SubjectAccessReview) error
}

// decode reads the request and its objects; before stays empty at creation.
func (a approver) decode(ctx context.Context, before, after runtime.Object) (_ admission.Request, isUpdate bool, err error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return request, false, apierrors.NewInternalError(err)
	}
	if err := a.decoder.Decode(request, after); err != nil {
		return request, false, apierrors.NewBadRequest(err.Error())
	}
	isUpdate = len(request.OldObject.Raw) > 0
	if isUpdate {
		if err := a.decoder.DecodeRaw(request.OldObject, before); err != nil {
			return request, false, apierrors.NewBadRequest(err.Error())
		}
	}
	return request, isUpdate, nil
}

// ofAnother refuses approvals that were written while the object was another instance's.
func ofAnother(path *field.Path, what string) field.ErrorList {
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"must be empty when the label %s gives the %s to another instance, which cannot know who approved: approve again afterwards", shared.LabelManagedBy, what))}
}

// verbApprove is what roles give to those who may approve. To be allowed to update a ModuleRollout or a RemovalBudget is not
// enough: whoever pauses a rollout need not be one of them.
const verbApprove = "approve"

// mayApprove refuses the request of a user who must not approve; what says what the user approves with it.
func (a approver) mayApprove(ctx context.Context, request admission.Request, resource, what string) error {
	user := request.UserInfo
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verbApprove, Group: v1beta2.GroupVersion.Group, Version: v1beta2.GroupVersion.Version,
			Resource: resource, Namespace: request.Namespace,
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
	message := fmt.Sprintf("user %q must not approve %s: it takes the verb %s in namespace %s, which a Role there gives with the rule "+
		`{apiGroups: [%q], resources: [%q], verbs: [%q]}`, user.Username, what, verbApprove, request.Namespace,
		v1beta2.GroupVersion.Group, resource, verbApprove)
	if review.Status.EvaluationError != "" {
		message += "; the API server could not evaluate all rules: " + review.Status.EvaluationError
	}
	return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource(resource).GroupResource(), request.Name, errors.New(message))
}
