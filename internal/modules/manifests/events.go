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
	// EventDriftCorrected means that objects differed from what was applied and were corrected.
	EventDriftCorrected = "DriftCorrected"
	// EventFieldConflict means that another manager keeps changing an object.
	EventFieldConflict = "DriftConflict"
	// EventObjectReplaced means that immutable objects were deleted and created again, as the module asks.
	EventObjectReplaced = "ObjectReplaced"
	// EventUnknownObject means that an object has our ownership annotation but is in no inventory.
	EventUnknownObject = "UnknownObject"
	// EventNotPruned means that objects that a chart no longer renders were kept, because the cluster did not say which
	// APIs it serves.
	EventNotPruned = "NotPruned"
	// EventOrphaned means that an orphaned Manifest was deleted and its objects remain.
	EventOrphaned = "OrphanDeleted"
	// EventKeptForOthers means that objects that a module no longer needs remain, because other Kymas in the same
	// cluster use them, or because a namespace is in use. The Event is on the Kyma, which outlives the module.
	EventKeptForOthers = "LeftToOtherKymas"
	// EventKeptByPolicy means that objects that a module no longer has remain, because they carry Helm's annotation for
	// that. The Event is on the Kyma, which outlives the module.
	EventKeptByPolicy = "KeptByResourcePolicy"
	// EventReleasedUnseen means that a Manifest without a record of its cluster was released although the cluster was
	// not checked. The module's objects may remain there. The Event is on the Kyma, which outlives the module.
	EventReleasedUnseen = "ReleasedWithoutCluster"
)

// Reasons of Events about the data of users.
const (
	// EventUserDataBlocks means that custom resources that users created block the removal of their module.
	EventUserDataBlocks = "UserDataBlocksRemoval"
	// EventUserDataDeleted means that custom resources that users created are deleted together with their module, as was
	// allowed.
	EventUserDataDeleted = "UserDataDeleted"
)

// EventRecorder records Events; a client-go record.EventRecorder is one.
type EventRecorder = hint.Recorder

// DriftCounter counts drift corrections.
type DriftCounter interface {
	DriftCorrected(objects int)
}

// RefusalCounter counts Manifests that are in no plan.
type RefusalCounter interface {
	ManifestRefused()
}

const (
	// recordedAgainAfter is the time after which the same Event may be recorded again.
	recordedAgainAfter = 24 * time.Hour
	// remembered is the maximum number of recorded Events that a Recorder remembers.
	remembered = 4096
)

// Recorder records Events. RecordOnce does not repeat an Event within recordedAgainAfter.
type Recorder struct {
	events EventRecorder
	counts DriftCounter
	// refused may be nil.
	refused RefusalCounter
	// recorded holds when each recent Event was recorded.
	recorded *lately.Cache[string, time.Time]
	clock    func() time.Time
}

// NewRecorder returns a Recorder. events and counts may be nil.
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

// RecordOnce records an Event about these objects unless it recorded the same message about the Manifest recently.
func (r *Recorder) RecordOnce(m *v1beta2.Manifest, eventType, reason, message string, about ...runtime.Object) {
	if r.RecordedLately(string(m.UID) + message) {
		return
	}
	for _, object := range about {
		r.Record(object, eventType, reason, message)
	}
}

// Replaced records an Event with the objects that were deleted and created again.
func (r *Recorder) Replaced(m *v1beta2.Manifest, names []string) {
	if len(names) > 0 {
		r.Record(m, corev1.EventTypeNormal, EventObjectReplaced, "deleted and created again, because they could not be changed: "+objects.FirstOf(names))
	}
}

// UnknownObjects records an Event with objects that have the Manifest's ownership annotation and are not in its
// inventory. They are left alone, because only objects that are known to be ours are removed.
func (r *Recorder) UnknownObjects(m *v1beta2.Manifest, names []string) {
	message := "objects with this module's mark that the module did not create; they are left alone: " + objects.FirstOf(names)
	r.RecordOnce(m, corev1.EventTypeWarning, EventUnknownObject, message, m)
}

// NotPruned records an Event that objects remain although they may no longer belong to the module, and which APIs are
// the cause.
func (r *Recorder) NotPruned(m *v1beta2.Manifest, count int, silent []string) {
	message := fmt.Sprintf("%d objects that the chart no longer renders are kept, because the cluster does not say whether it serves %s",
		count, objects.FirstOf(silent))
	r.RecordOnce(m, corev1.EventTypeWarning, EventNotPruned, message, m)
}

// KeptForOthers records an Event with the objects that remain in the cluster after the removal of a module. Each name
// includes who or what uses the object.
func (r *Recorder) KeptForOthers(m *v1beta2.Manifest, names []string) {
	if len(names) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster: %s", len(names), m.ModuleName(), objects.FirstOf(names))
	r.RecordOnce(m, corev1.EventTypeNormal, EventKeptForOthers, message, KymaOf(m))
}

// KeptByPolicy records an Event with the objects that remain in the cluster and leave the module because of Helm's
// annotation.
func (r *Recorder) KeptByPolicy(m *v1beta2.Manifest, names []string) {
	if len(names) == 0 {
		return
	}
	message := fmt.Sprintf("%d of the objects of module %s stay in the cluster and no longer belong to it, because of helm.sh/resource-policy: keep: %s",
		len(names), m.ModuleName(), objects.FirstOf(names))
	r.RecordOnce(m, corev1.EventTypeNormal, EventKeptByPolicy, message, KymaOf(m))
}

// ReleasedWithoutCluster records an Event that a Manifest was released although its cluster was not checked, and why.
func (r *Recorder) ReleasedWithoutCluster(m *v1beta2.Manifest, why fault.Fault) {
	message := fmt.Sprintf("Manifest %s of module %s is released without a check of its cluster, so objects of the module may remain there: %s",
		m.Name, m.ModuleName(), why.Message)
	if r.RecordedLately(string(m.UID) + EventReleasedUnseen) {
		return
	}
	r.Record(KymaOf(m), corev1.EventTypeWarning, EventReleasedUnseen, message)
}

// Orphaned records an Event that the objects of an orphaned Manifest remain when it is deleted.
func (r *Recorder) Orphaned(m *v1beta2.Manifest) {
	r.Record(m, corev1.EventTypeWarning, EventOrphaned, fmt.Sprintf(
		"the Kyma of this Manifest was deleted without its modules: the Manifest is released, and %d objects of module %s remain in the cluster",
		inventory.Count(m.Status.Inventory), m.ModuleName()))
}

// RecordedLately reports whether this was recorded recently. If not, it remembers that it is recorded now.
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
