package apply

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/drift"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

// Installation is the work of one reconcile of one Manifest.
type Installation struct {
	objects.Target
	Plan bundle.Plan
	// RemoteNamespace is the namespace of objects that name none, and ensureRemoteNamespace creates it, once in a reconcile:
	// objects that are applied in parallel find it missing at the same time.
	RemoteNamespace       string
	ensureRemoteNamespace func() error
	// Repair is what is known of the objects from before.
	Repair drift.Repair
	// Begins is the state of the module from the moment that something is applied.
	Begins readiness.Observed
	// Refused are objects of the plan that belong to other modules, Yielded those of them that leave our inventory.
	Refused []bundle.Failure
	Yielded map[string]bool
	// First is true when nothing is known to have been applied before; began is when this reconcile began.
	First bool
	began time.Time
	// Silent are APIs of which the cluster did not say whether it serves them: the rendering may lack what depends on
	// them.
	Silent []string
	// AsOf is when the Manifest was last read live, or written as it had been read.
	AsOf time.Time
	// Until is when no further object is begun, except for the first.
	Until time.Time
	begun atomic.Bool
	// replaced are the objects that were deleted and created again.
	replaced  []string
	replacing sync.Mutex
	// Met is true when an object existed long before it was applied.
	Met atomic.Bool
}
