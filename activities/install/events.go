package install

import (
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/hint"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Reasons of Events on a Manifest.
const (
	// EventDriftCorrected: objects were not as they were left, and were put right.
	EventDriftCorrected = "DriftCorrected"
	// EventDriftDisputed: somebody keeps changing an object.
	EventDriftDisputed = "DriftDisputed"
	// EventUnknownObject: an object has our mark, but is in no inventory.
	EventUnknownObject = "UnknownObject"
	// EventNotPruned: objects that a chart no longer has were not removed, as the cluster did not say which APIs it has.
	EventNotPruned = "NotPruned"
	// EventOrphaned: a Manifest that its Kyma left was deleted, and what it installed stays.
	EventOrphaned = "OrphanDeleted"
	// EventLeftToOthers: objects that a module no longer needs stay, as other Kymas in the same cluster use them, or a
	// namespace, as somebody works in it. It is on the Kyma, which outlives the module.
	EventLeftToOthers = "LeftToOtherKymas"
	// EventReleasedUnseen: a Manifest of which nothing is known was let go without a look at its cluster, where the
	// module's objects may still be. It is on the Kyma, which outlives the module.
	EventReleasedUnseen = "ReleasedWithoutCluster"
)

const (
	// EventUserDataBlocks: custom resources that users made block the removal of their module.
	EventUserDataBlocks = "UserDataBlocksRemoval"
	// EventUserDataDeleted: custom resources that users made are deleted with their module, as was allowed.
	EventUserDataDeleted = "UserDataDeleted"
)

// EventRecorder tells people; a client-go record.EventRecorder is one.
type EventRecorder = hint.Recorder

// DriftCounter counts the objects that were put right.
type DriftCounter interface {
	DriftCorrected(objects int)
}

const (
	// toldAgainAfter is after how long the same is told once more.
	toldAgainAfter = 24 * time.Hour
	// remembered is how many things told are remembered at most.
	remembered = 4096
)

// teller tells people, once.
type teller struct {
	events EventRecorder
	counts DriftCounter
	// told remembers what was told lately, and when.
	told  *lru.Cache[string, time.Time]
	clock func() time.Time
}

func newTeller(events EventRecorder, counts DriftCounter, clock func() time.Time) (*teller, error) {
	told, err := lru.New[string, time.Time](remembered)
	if err != nil {
		return nil, fmt.Errorf("make the memory of what was told: %w", err)
	}
	return &teller{events: events, counts: counts, told: told, clock: clock}, nil
}

func (t *teller) tell(about runtime.Object, eventType, reason, message string) {
	if t.events != nil {
		hint.Record(t.events, about, eventType, reason, message, hint.For(reason))
	}
}

// tellCorrected tells of what a look put right, with one Event, and counts it. A dispute makes the module Warning, which
// its Kyma is told of as of any other.
func tellCorrected(t *teller, m *v1beta2.Manifest, r *repair) {
	if len(r.corrected) == 0 {
		return
	}
	t.countDrift(len(r.corrected))
	t.tell(m, corev1.EventTypeNormal, EventDriftCorrected, fmt.Sprintf("%d of the module's objects put right: %s", len(r.corrected), r))
	made := r.losses()
	for _, c := range m.Status.Corrections {
		if _, now := made[c.ID]; now && isDisputed(c) {
			t.tell(m, corev1.EventTypeWarning, EventDriftDisputed, disputeOf(c))
		}
	}
}

// unknown tells of objects that have the Manifest's mark and are not in its inventory. Nothing is done about
// them: what is not known to be ours is not removed.
func (t *teller) unknown(m *v1beta2.Manifest, objects []string) {
	message := "in the cluster with this module's mark, but not made by it, and left alone: " + some(objects)
	if !t.toldLately(string(m.UID) + message) {
		t.tell(m, corev1.EventTypeWarning, EventUnknownObject, message)
	}
}

// notPruned tells that objects that may no longer belong to a module stay, and for the sake of which APIs.
func (t *teller) notPruned(m *v1beta2.Manifest, objects int, silent []string) {
	message := fmt.Sprintf("%d objects that the chart does not render now are kept: the cluster does not say what it serves of %s",
		objects, some(silent))
	if !t.toldLately(string(m.UID) + message) {
		t.tell(m, corev1.EventTypeWarning, EventNotPruned, message)
	}
}

// left tells of objects that stay in the cluster for others when a module is removed, each with who or what uses it.
func (t *teller) left(m *v1beta2.Manifest, objects []string) {
	if len(objects) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster: %s", len(objects), m.ModuleName(), some(objects))
	if t.toldLately(string(m.UID) + message) {
		return
	}
	t.tell(kymaOf(m), corev1.EventTypeNormal, EventLeftToOthers, message)
}

// unseen tells that nobody looked what of a module is in its cluster before its Manifest went, and why.
func (t *teller) unseen(m *v1beta2.Manifest, why fault.Fault) {
	message := fmt.Sprintf("Manifest %s of module %s is let go without a look at its cluster, where objects of the module may still be: %s",
		m.Name, m.ModuleName(), why.Message)
	if t.toldLately(string(m.UID) + EventReleasedUnseen) {
		return
	}
	t.tell(kymaOf(m), corev1.EventTypeWarning, EventReleasedUnseen, message)
}

// tellDataBlocks tells which custom resources of users block the removal of a module, and the way out.
func tellDataBlocks(t *teller, m *v1beta2.Manifest, seen blockingCRs) {
	message := fmt.Sprintf("module %s is not removed: %s", m.ModuleName(), seen.waits().Hint)
	if t.toldLately(string(m.UID) + message) {
		return
	}
	t.tell(m, corev1.EventTypeWarning, EventUserDataBlocks, message)
	t.tell(kymaOf(m), corev1.EventTypeWarning, EventUserDataBlocks, message)
}

// tellDataDeleted tells which custom resources of users are deleted with a module.
func tellDataDeleted(t *teller, m *v1beta2.Manifest, seen blockingCRs) {
	message := fmt.Sprintf("module %s: %s", m.ModuleName(), seen.waits().Hint)
	if !t.toldLately(string(m.UID) + message) {
		t.tell(kymaOf(m), corev1.EventTypeNormal, EventUserDataDeleted, message)
	}
}

// kymaOf is a Manifest's Kyma, as far as an Event needs it.
func kymaOf(m *v1beta2.Manifest) *v1beta2.Kyma {
	kyma := kymaRefOf(m)
	return &v1beta2.Kyma{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindKyma},
		ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID},
	}
}

// orphaned tells that what a Manifest installed, which its Kyma left, stays when it is deleted.
func (t *teller) orphaned(m *v1beta2.Manifest) {
	t.tell(m, corev1.EventTypeWarning, EventOrphaned, fmt.Sprintf(
		"the Kyma of this Manifest was deleted so that what it installed stays: the Manifest is released, and %d objects of module %s are left where they are",
		staying(m.Status.Inventory), m.ModuleName()))
}

// toldLately tells whether something was told not long ago, and remembers that it is now.
func (t *teller) toldLately(what string) bool {
	now := t.clock()
	if at, ok := t.told.Get(what); ok && now.Sub(at) < toldAgainAfter {
		return true
	}
	t.told.Add(what, now)
	return false
}

func (t *teller) countDrift(objects int) {
	if t.counts != nil {
		t.counts.DriftCorrected(objects)
	}
}
