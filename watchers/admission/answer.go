package admission

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// passes tells whether an object is not ours to judge: a copy of another, of another instance, or going away.
func passes(settings desired.Settings, object client.Object) bool {
	return desired.IsSyncedCopy(object) || !settings.Ours(object.GetLabels()) || !object.GetDeletionTimestamp().IsZero()
}

// maxProblems is how many problems an answer has at most.
const maxProblems = 20

// refused is the answer that kubectl shows like one of the API server's own. What it repeats of the request is shortened.
func refused(kind string, object client.Object, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], field.Forbidden(field.NewPath("spec"), fmt.Sprintf("and %d more problems", more)))
	}
	for _, problem := range problems {
		problem.Field, problem.Detail = fault.Message(problem.Field), fault.Message(problem.Detail)
		switch value := problem.BadValue.(type) {
		case field.OmitValueType:
		case string:
			problem.BadValue = fault.Shorten(value, warningBytes)
		default:
			problem.BadValue = field.OmitValueType{}
			if text := fmt.Sprint(value); len(text) <= warningBytes {
				problem.BadValue = value
			}
		}
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: v1beta2.GroupVersion.Group, Kind: kind}, object.GetName(), problems)
}

// permissive lets pass what a validator has nothing to say about.
type permissive[T runtime.Object] struct{}

// ValidateCreate lets every new object pass.
func (permissive[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) { return nil, nil }

// ValidateDelete lets every deletion pass.
func (permissive[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }
