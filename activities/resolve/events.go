package resolve

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// record records a warning Event with a hint. Events are for people and may get lost.
func (a *Activities) record(object client.Object, reason, message, todo string) {
	if a.Events != nil {
		hint.Record(a.Events, object, corev1.EventTypeWarning, reason, message, todo)
	}
}

// recordUnplanned records the removal of a Manifest that somebody else created and that no other process has refused yet.
func (a *Activities) recordUnplanned(kyma *v1beta2.Kyma, manifest *v1beta2.Manifest) {
	if a.Refused != nil {
		a.Refused.ManifestRefused()
	}
	a.record(kyma, manifests.EventNotPlanned, manifests.UnplannedMessage(manifest), hint.For(manifests.EventNotPlanned))
}

// EventSpecRestored: somebody edited the spec of a Manifest, and the planned spec was restored.
const EventSpecRestored = "SpecRestored"

// recordRestored records an Event if somebody had edited the spec that was restored.
func (a *Activities) recordRestored(edited *v1beta2.Manifest) {
	if a.Events == nil || !desired.IsEdited(edited) {
		return
	}
	hint.Record(a.Events, installations.Resource(edited), corev1.EventTypeWarning, EventSpecRestored,
		"somebody edited the spec, and it was restored; edit the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead", "")
}
