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

// approver checks approvals of all kinds.
type approver struct {
	settings desired.Settings
	decoder  admission.Decoder
	now      func() time.Time
	// review lets the API server answer a SubjectAccessReview.
	review func(context.Context, *authorizationv1.SubjectAccessReview) error
}

// decode decodes the objects of the request. before stays empty at creation.
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

// ofAnother refuses approvals that were written while the object belonged to another instance.
func ofAnother(path *field.Path, what string) field.ErrorList {
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"must be empty when the label %s gives the %s to another instance, which cannot know who approved: approve again afterwards", shared.LabelManagedBy, what))}
}

// verbApprove is the verb that roles grant to users who may approve. The right to update a ModuleRollout or a
// RemovalBudget is not enough, because a user who may pause a rollout need not be one who may approve.
const verbApprove = "approve"

// mayApprove refuses the request of a user who must not approve. what describes what the user approves.
func (a approver) mayApprove(ctx context.Context, request admission.Request, resource, what string) error {
	user := request.UserInfo
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, Groups: user.Groups, UID: user.UID, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verbApprove, Group: v1beta2.GroupVersion.Group, Version: v1beta2.GroupVersion.Version,
			Resource: resource, Namespace: request.Namespace,
			// The name is empty if it is generated later. The user then needs the right for all names.
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
	message := fmt.Sprintf("user %q must not approve %s: this needs the verb %s in namespace %s; grant it with a Role there with the rule "+
		`{apiGroups: [%q], resources: [%q], verbs: [%q]}`, user.Username, what, verbApprove, request.Namespace,
		v1beta2.GroupVersion.Group, resource, verbApprove)
	if review.Status.EvaluationError != "" {
		message += "; the API server could not evaluate all rules: " + review.Status.EvaluationError
	}
	return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource(resource).GroupResource(), request.Name, errors.New(message))
}
