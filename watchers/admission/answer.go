package admission

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// passes tells whether an object is not ours to judge: a copy of another, of another instance, or going away.
func passes(settings desired.Settings, object client.Object) bool {
	return desired.IsSyncedCopy(object) || !settings.Ours(object.GetLabels()) || !object.GetDeletionTimestamp().IsZero()
}

// refused is the answer that kubectl shows like one of the API server's own.
func refused(kind string, object client.Object, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: v1beta2.GroupVersion.Group, Kind: kind}, object.GetName(), problems)
}
