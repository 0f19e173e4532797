package manifests

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
)

// Reasons of Events on a Manifest.
const (
	// EventDriftCorrected: objects differed from what was applied, and the drift was corrected.
	EventDriftCorrected = "DriftCorrected"
	// EventFieldConflict: somebody keeps changing an object.
	EventFieldConflict = "DriftConflict"
	// EventObjectReplaced: objects that could not be changed were deleted and created again, as the module asks.
	EventObjectReplaced = "ObjectReplaced"
	// EventUnknownObject: an object has our ownership annotation, but is in no inventory.
	EventUnknownObject = "UnknownObject"
	// EventNotPruned: objects that a chart no longer has were not removed, since the cluster did not say which APIs it has.
	EventNotPruned = "NotPruned"
	// EventOrphaned: an orphaned Manifest was deleted, and what it installed remains.
	EventOrphaned = "OrphanDeleted"
	// EventKeptForOthers: objects that a module no longer needs remain, since other Kymas in the same cluster use them, or
	// a namespace, since it is in use. It is on the Kyma, which outlives the module.
	EventKeptForOthers = "LeftToOtherKymas"
	// EventKeptByPolicy: objects that a module no longer has remain, since they carry Helm's annotation for it. It is on the
	// Kyma, which outlives the module.
	EventKeptByPolicy = "KeptByResourcePolicy"
	// EventReleasedUnseen: a Manifest of which nothing is known was released although its cluster was not checked, where
	// the module's objects may remain. It is on the Kyma, which outlives the module.
	EventReleasedUnseen = "ReleasedWithoutCluster"
)

// Reasons of Events about the data of users.
const (
	// EventUserDataBlocks: custom resources that users created block the removal of their module.
	EventUserDataBlocks = "UserDataBlocksRemoval"
	// EventUserDataDeleted: custom resources that users created are deleted with their module, as was allowed.
	EventUserDataDeleted = "UserDataDeleted"
)

// EventRecorder records Events; a client-go record.EventRecorder is one.
type EventRecorder = hint.Recorder

// DriftCounter counts drift corrections.
type DriftCounter interface {
	DriftCorrected(objects int)
}

// RefusalCounter counts Manifests that no plan had.
type RefusalCounter interface {
	ManifestRefused()
}

const (
	// recordedAgainAfter is after how long the same is recorded once more.
	recordedAgainAfter = 24 * time.Hour
	// remembered is how many recorded things are remembered at most.
	remembered = 4096
)

// Recorder records Events, and the same only once in a while.
type Recorder struct {
	events EventRecorder
	counts DriftCounter
	// refused may be nil.
	refused RefusalCounter
	// recorded is what was recorded lately, and when.
	recorded *lately.Cache[string, time.Time]
	clock    func() time.Time
}

// NewRecorder returns a recorder; events and counts may be nil.
func NewRecorder(events EventRecorder, counts DriftCounter, clock func() time.Time) *Recorder {
	return &Recorder{events: events, counts: counts, recorded: lately.New[string, time.Time](remembered), clock: clock}
}

// Record records an Event with the hint for its reason.
func (r *Recorder) Record(about runtime.Object, eventType, reason, message string) {
	if r.events != nil {
		if m, ok := about.(*v1beta2.Manifest); ok {
			about = installations.Resource(m)
		}
		hint.Record(r.events, about, eventType, reason, message, hint.For(reason))
	}
}

// RecordOnce records an Event about these objects, unless the same was recorded of the Manifest lately.
func (r *Recorder) RecordOnce(m *v1beta2.Manifest, eventType, reason, message string, about ...runtime.Object) {
	if r.RecordedLately(string(m.UID) + message) {
		return
	}
	for _, object := range about {
		r.Record(object, eventType, reason, message)
	}
}

// Replaced records which objects were deleted and created again.
func (r *Recorder) Replaced(m *v1beta2.Manifest, names []string) {
	if len(names) > 0 {
		r.Record(m, corev1.EventTypeNormal, EventObjectReplaced, "deleted and created again, because they could not be changed: "+objects.FirstOf(names))
	}
}

// UnknownObjects records which objects have the Manifest's ownership annotation and are not in its inventory. They are
// not changed: what is not known to be ours is not removed.
func (r *Recorder) UnknownObjects(m *v1beta2.Manifest, names []string) {
	message := "in the cluster with this module's mark, but not made by it, and left alone: " + objects.FirstOf(names)
	r.RecordOnce(m, corev1.EventTypeWarning, EventUnknownObject, message, m)
}

// NotPruned records that objects that may no longer belong to a module remain, and because of which APIs.
func (r *Recorder) NotPruned(m *v1beta2.Manifest, count int, silent []string) {
	message := fmt.Sprintf("%d objects that the chart does not render now are kept: the cluster does not say what it serves of %s",
		count, objects.FirstOf(silent))
	r.RecordOnce(m, corev1.EventTypeWarning, EventNotPruned, message, m)
}

// KeptForOthers records which objects remain in the cluster for others when a module is removed, each with who or what
// uses it.
func (r *Recorder) KeptForOthers(m *v1beta2.Manifest, names []string) {
	if len(names) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster: %s", len(names), m.ModuleName(), objects.FirstOf(names))
	r.RecordOnce(m, corev1.EventTypeNormal, EventKeptForOthers, message, KymaOf(m))
}

// KeptByPolicy records which objects remain in the cluster, and are no longer the module's, because of Helm's annotation.
func (r *Recorder) KeptByPolicy(m *v1beta2.Manifest, names []string) {
	if len(names) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster and are no longer the module's, as helm.sh/resource-policy: keep asks: %s",
		len(names), m.ModuleName(), objects.FirstOf(names))
	r.RecordOnce(m, corev1.EventTypeNormal, EventKeptByPolicy, message, KymaOf(m))
}

// ReleasedWithoutCluster records that a Manifest was released although its cluster was not checked, and why.
func (r *Recorder) ReleasedWithoutCluster(m *v1beta2.Manifest, why fault.Fault) {
	message := fmt.Sprintf("Manifest %s of module %s is released without a check of its cluster, where objects of the module may remain: %s",
		m.Name, m.ModuleName(), why.Message)
	if r.RecordedLately(string(m.UID) + EventReleasedUnseen) {
		return
	}
	r.Record(KymaOf(m), corev1.EventTypeWarning, EventReleasedUnseen, message)
}

// Orphaned records that what an orphaned Manifest installed remains when it is deleted.
func (r *Recorder) Orphaned(m *v1beta2.Manifest) {
	r.Record(m, corev1.EventTypeWarning, EventOrphaned, fmt.Sprintf(
		"the Kyma of this Manifest was deleted so that what it installed stays: the Manifest is released, and %d objects of module %s remain",
		inventory.Count(m.Status.Inventory), m.ModuleName()))
}

// RecordedLately tells whether something was recorded lately, and remembers that it is now.
func (r *Recorder) RecordedLately(what string) bool {
	now := r.clock()
	if at, ok := r.recorded.Get(what); ok && now.Sub(at) < recordedAgainAfter {
		return true
	}
	r.recorded.Add(what, now)
	return false
}

// CountDrift counts drift corrections.
func (r *Recorder) CountDrift(corrected int) {
	if r.counts != nil {
		r.counts.DriftCorrected(corrected)
	}
}
