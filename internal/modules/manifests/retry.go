package manifests

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// StatusTries is the maximum number of attempts to write an object that keeps changing.
const StatusTries = 4

// RetryOnConflict calls do again, without a pause, as long as it returns a conflict, at most StatusTries times. It
// returns the error of the last call. retry.OnError alone would return the previous conflict if the context has ended
// since.
func RetryOnConflict(do func() error) error {
	var last error
	_ = retry.OnError(wait.Backoff{Steps: StatusTries}, IsConflict, func() error {
		last = do()
		return last
	})
	return last
}

// IsConflict reports whether an object has changed since it was read. It also recognizes conflicts that were turned
// into a fault.
func IsConflict(err error) bool {
	return apierrors.IsConflict(err) || err != nil && fault.Of(err).Reason == clusters.ReasonConflict
}
