package removal

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
)

// RetryOnConflict calls do again, without a pause, as long as it returns a conflict, at most manifests.StatusTries
// times. It returns the error of the last call: retry.OnError alone would return the conflict before it when the
// context has ended since.
func RetryOnConflict(do func() error) error {
	var last error
	_ = retry.OnError(wait.Backoff{Steps: manifests.StatusTries}, apierrors.IsConflict, func() error {
		last = do()
		return last
	})
	return last
}
