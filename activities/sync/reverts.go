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

// EventRemoteReverted: a remote cluster repeatedly undoes our changes.
const EventRemoteReverted = "RemoteChangesUndone"

const (
	// revertLimit is how often in a row the same content is written again before undoing it counts as intended.
	// revertPause is how long the content is then left undone, like the resources of modules.
	revertLimit = 3
	revertPause = 24 * time.Hour
	// revertsRemembered bounds the number of cached differences. A forgotten difference is corrected some extra times.
	revertsRemembered = 16384
)

// reverts records which of our changes a cluster has undone. A cluster that undoes them each time, for example by an
// admission policy, a CRD that prunes or a controller, would otherwise cause a full synchronization in every pass.
type reverts struct {
	seen   *lately.Cache[string, undoing]
	events hint.Recorder
	clock  func() time.Time
}

// undoing counts how often in a row the content with the digest wanted was missing, and records when it was last written.
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

// isWorthSync reports whether a difference is worth another synchronization. If it no longer is, isWorthSync records an
// Event, once a day. found is the object that differs; it may be nil, and has no resourceVersion if it does not exist.
// wanted is a digest of the desired content; another digest starts a new count.
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

// reset records a pass without this difference. Someone who makes an occasional change does not undo ours each time.
func (u *reverts) reset(kyma *v1beta2.Kyma, why string) { u.seen.Remove(revertKey(kyma, why)) }

func revertKey(kyma *v1beta2.Kyma, why string) string { return string(kyma.UID) + "\n" + why }

func (u *reverts) record(kyma *v1beta2.Kyma, why string, found client.Object, subresource string) {
	if u.events == nil {
		return
	}
	message := fmt.Sprintf("the remote cluster keeps undoing our changes: %s", why)
	if found != nil {
		message += fmt.Sprintf(" (%s)", desired.NameOf(found))
		manager := lastOther(found.GetManagedFields(), subresource)
		switch {
		case manager != "":
			message += ", by " + manager
		case found.GetResourceVersion() == "":
			message += ", which somebody deletes; the cluster's audit log says who"
		default:
			message += ", by an unknown field manager; check for an admission policy or webhook, or a CRD that prunes"
		}
	}
	hint.Record(u.events, kyma, corev1.EventTypeWarning, EventRemoteReverted, message+"; from now on the drift is corrected once a day", hint.For(EventRemoteReverted))
}

// lastOther returns the field manager of others that wrote an object, or its subresource, after us. It returns "" if
// there is none.
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
