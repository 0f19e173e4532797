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

// passes reports whether the webhook skips an object, because it is a synced copy, belongs to another instance, or is
// being deleted.
func passes(settings desired.Settings, object client.Object) bool {
	return desired.IsSyncedCopy(object) || !settings.Ours(object.GetLabels()) || !object.GetDeletionTimestamp().IsZero()
}

// maxProblems is the maximum number of problems in an answer.
const maxProblems = 20

// refused returns an error that kubectl shows like one of the API server's own. Values from the request are shortened.
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

// permissive accepts creations and deletions. Validators embed it.
type permissive[T runtime.Object] struct{}

// ValidateCreate accepts every new object.
func (permissive[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) { return nil, nil }

// ValidateDelete accepts every deletion.
func (permissive[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }
