package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// moduleName is the name under which a Manifest's module was shown, or was listed.
func moduleName(kyma *v1beta2.Kyma, manifest *v1beta2.Manifest) string {
	for _, module := range kyma.Status.Modules {
		if module.Manifest != nil && module.Manifest.Metadata.Name == manifest.Name {
			return module.Name
		}
	}
	for _, name := range []string{manifest.Annotations[desired.AnnotationModuleEntry], manifest.ModuleName()} {
		if name != "" {
			return name
		}
	}
	return manifest.Name
}

// observation is all that a status is made from.
type observation struct {
	kyma      *v1beta2.Kyma
	manifests []v1beta2.Manifest
	view      resolve.View
	in        ReportInput
	now       time.Time
	// answered is true when the remote cluster has just taken the copy of the status.
	answered bool
	// pullSecret is true where an image pull Secret is configured.
	pullSecret bool
	// watching is true where remote clusters send events.
	watching bool
	// purge is when a Kyma under deletion is purged; zero means never. purgeProblem says why its annotation does not
	// decide that.
	purge        time.Time
	purgeProblem string
}

// operationText is a message and what can be done about it.
type operationText struct{ message, hint string }

// worst is the fault that the whole Kyma suffers from, the one that people should fix first.
func (o observation) worst() fault.Fault { return o.in.Faults.ToReport() }

// held is why removals of this Kyma's modules wait for the removal budget; zero if none waits.
func (o observation) held() fault.Fault {
	if f := o.in.Faults[fault.PartResolve]; f.Reason == budget.ReasonHeld {
		return f
	}
	return fault.Fault{}
}

// heldSince is since when they wait.
func (o observation) heldSince() *metav1.Time {
	if o.held().IsZero() {
		return nil
	}
	if since := o.kyma.Status.RemovalHeldSince; since != nil {
		return since
	}
	return new(seconds(o.now))
}

// waits tells whether a Manifest says what its removal waits for. What it said before the removal began is no such
// thing.
func waits(m *v1beta2.Manifest) bool {
	switch m.Status.State {
	case shared.StateDeleting, shared.StateWarning, shared.StateError:
		return m.Status.LastOperation != nil && !m.DeletionTimestamp.IsZero() && m.Status.LastOperation.Operation != ""
	default:
		return false
	}
}

// seconds is a time as it survives being written: without fractions.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
