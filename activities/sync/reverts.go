package sync

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
)

// EventRemoteReverted: a remote cluster undoes each time what is written there.
const EventRemoteReverted = "RemoteChangesUndone"

const (
	// revertLimit is how often the same is written again in a row before it counts as undone on purpose, and undoneRest
	// how long it is left then, as with the resources of modules.
	revertLimit = 3
	revertPause = 24 * time.Hour
	// revertsRemembered is how many things are remembered. What is forgotten is written some times more.
	revertsRemembered = 16384
)

// reverts remembers what of ours was not there any more. A cluster where something takes it away each time (an admission
// policy, a definition that prunes, a controller) would cause a whole synchronization in every pass.
type reverts struct {
	seen   *lately.Cache[string, undoing]
	events hint.Recorder
	clock  func() time.Time
}

// undoing is how often in a row something was missed that should be as in the digest wanted, and when it was last written.
type undoing struct {
	wanted   string
	times    int
	last     time.Time
	recorded bool
}

func newReverts(events hint.Recorder, clock func() time.Time) *reverts {
	if clock == nil {
		clock = time.Now
	}
	return &reverts{seen: lately.New[string, undoing](revertsRemembered), events: events, clock: clock}
}

// isWorthSync tells whether a difference is worth another synchronization, and records an Event where it is not any
// more, once a day. The found object, which may be nil, is what differs, without a version where it is not there; and
// wanted a digest of what it should be: something else that is wanted starts over.
func (u *reverts) isWorthSync(kyma *v1beta2.Kyma, why string, found client.Object, subresource, wanted string) bool {
	key, now := revertKey(kyma, why), u.clock()
	seen, known := u.seen.Get(key)
	switch {
	case !known, seen.wanted != wanted, now.Sub(seen.last) >= revertPause && seen.times < revertLimit:
		seen = undoing{wanted: wanted}
	case now.Sub(seen.last) >= revertPause:
		seen.recorded = false
	case seen.times >= revertLimit:
		if !seen.recorded {
			seen.recorded = true
			u.seen.Add(key, seen)
			u.record(kyma, why, found, subresource)
		}
		return false
	}
	seen.times, seen.last = seen.times+1, now
	u.seen.Add(key, seen)
	return true
}

// reset takes note of a pass that found nothing wrong: whoever changes something now and then undoes nothing each time.
func (u *reverts) reset(kyma *v1beta2.Kyma, why string) { u.seen.Remove(revertKey(kyma, why)) }

func revertKey(kyma *v1beta2.Kyma, why string) string { return string(kyma.UID) + "\n" + why }

func (u *reverts) record(kyma *v1beta2.Kyma, why string, found client.Object, subresource string) {
	if u.events == nil {
		return
	}
	message := fmt.Sprintf("the remote cluster undoes each time what is written there: %s", why)
	if found != nil {
		message += fmt.Sprintf(" (%s)", desired.NameOf(found))
		manager := lastOther(found.GetManagedFields(), subresource)
		switch {
		case manager != "":
			message += ", by " + manager
		case found.GetResourceVersion() == "":
			message += ", which somebody deletes: the cluster's audit log says who"
		default:
			message += ", by nobody who says so: check for an admission policy or webhook, or a definition that prunes"
		}
	}
	hint.Record(u.events, kyma, corev1.EventTypeWarning, EventRemoteReverted, message+"; the drift is corrected once a day from now on", hint.For(EventRemoteReverted))
}

// lastOther is the field manager that wrote an object, or its subresource, after we did; empty where nobody is seen to have.
func lastOther(managed []metav1.ManagedFieldsEntry, subresource string) string {
	var ours, theirs metav1.Time
	manager := ""
	for _, e := range managed {
		if e.Subresource != subresource || e.Time == nil {
			continue
		}
		switch e.Manager {
		case shared.FieldManagerRemoteKyma, shared.FieldManagerCatalog, shared.FieldManagerLifecycleManager:
			if ours.Before(e.Time) {
				ours = *e.Time
			}
		default:
			if theirs.Before(e.Time) {
				theirs, manager = *e.Time, e.Manager
			}
		}
	}
	if theirs.Before(&ours) {
		return ""
	}
	return manager
}
