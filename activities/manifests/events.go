package manifests

import (
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/hint"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Reasons of Events on a Manifest.
const (
	// EventDriftCorrected: objects were not as they were left, and were put right.
	EventDriftCorrected = "DriftCorrected"
	// EventDriftDisputed: somebody keeps changing an object.
	EventFieldConflict = "DriftDisputed"
	// EventUnknownObject: an object has our mark, but is in no inventory.
	EventUnknownObject = "UnknownObject"
	// EventNotPruned: objects that a chart no longer has were not removed, as the cluster did not say which APIs it has.
	EventNotPruned = "NotPruned"
	// EventOrphaned: a Manifest that its Kyma left was deleted, and what it installed stays.
	EventOrphaned = "OrphanDeleted"
	// EventLeftToOthers: objects that a module no longer needs stay, as other Kymas in the same cluster use them, or a
	// namespace, as somebody works in it. It is on the Kyma, which outlives the module.
	EventKeptForOthers = "LeftToOtherKymas"
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
	// recordedAgainAfter is after how long the same is told once more.
	recordedAgainAfter = 24 * time.Hour
	// remembered is how many things told are remembered at most.
	remembered = 4096
)

// Recorder tells people, once.
type Recorder struct {
	events EventRecorder
	counts DriftCounter
	// told remembers what was told lately, and when.
	recorded *lru.Cache[string, time.Time]
	clock    func() time.Time
}

func NewRecorder(events EventRecorder, counts DriftCounter, clock func() time.Time) (*Recorder, error) {
	told, err := lru.New[string, time.Time](remembered)
	if err != nil {
		return nil, fmt.Errorf("make the memory of what was told: %w", err)
	}
	return &Recorder{events: events, counts: counts, recorded: told, clock: clock}, nil
}

func (t *Recorder) Record(about runtime.Object, eventType, reason, message string) {
	if t.events != nil {
		hint.Record(t.events, about, eventType, reason, message, hint.For(reason))
	}
}

// UnknownObjects tells of objects that have the Manifest's mark and are not in its inventory. Nothing is done about
// them: what is not known to be ours is not removed.
func (t *Recorder) UnknownObjects(m *v1beta2.Manifest, names []string) {
	message := "in the cluster with this module's mark, but not made by it, and left alone: " + objects.FirstOf(names)
	if !t.RecordedLately(string(m.UID) + message) {
		t.Record(m, corev1.EventTypeWarning, EventUnknownObject, message)
	}
}

// NotPruned tells that objects that may no longer belong to a module stay, and for the sake of which APIs.
func (t *Recorder) NotPruned(m *v1beta2.Manifest, names int, silent []string) {
	message := fmt.Sprintf("%d objects that the chart does not render now are kept: the cluster does not say what it serves of %s",
		names, objects.FirstOf(silent))
	if !t.RecordedLately(string(m.UID) + message) {
		t.Record(m, corev1.EventTypeWarning, EventNotPruned, message)
	}
}

// KeptForOthers tells of objects that stay in the cluster for others when a module is removed, each with who or what uses it.
func (t *Recorder) KeptForOthers(m *v1beta2.Manifest, names []string) {
	if len(names) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster: %s", len(names), m.ModuleName(), objects.FirstOf(names))
	if t.RecordedLately(string(m.UID) + message) {
		return
	}
	t.Record(KymaOf(m), corev1.EventTypeNormal, EventKeptForOthers, message)
}

// ReleasedWithoutCluster tells that nobody looked what of a module is in its cluster before its Manifest went, and why.
func (t *Recorder) ReleasedWithoutCluster(m *v1beta2.Manifest, why fault.Fault) {
	message := fmt.Sprintf("Manifest %s of module %s is let go without a look at its cluster, where objects of the module may still be: %s",
		m.Name, m.ModuleName(), why.Message)
	if t.RecordedLately(string(m.UID) + EventReleasedUnseen) {
		return
	}
	t.Record(KymaOf(m), corev1.EventTypeWarning, EventReleasedUnseen, message)
}

// Orphaned tells that what a Manifest installed, which its Kyma left, stays when it is deleted.
func (t *Recorder) Orphaned(m *v1beta2.Manifest) {
	t.Record(m, corev1.EventTypeWarning, EventOrphaned, fmt.Sprintf(
		"the Kyma of this Manifest was deleted so that what it installed stays: the Manifest is released, and %d objects of module %s are left where they are",
		inventory.Count(m.Status.Inventory), m.ModuleName()))
}

// RecordedLately tells whether something was told not long ago, and remembers that it is now.
func (t *Recorder) RecordedLately(what string) bool {
	now := t.clock()
	if at, ok := t.recorded.Get(what); ok && now.Sub(at) < recordedAgainAfter {
		return true
	}
	t.recorded.Add(what, now)
	return false
}

func (t *Recorder) CountDrift(objects int) {
	if t.counts != nil {
		t.counts.DriftCorrected(objects)
	}
}
