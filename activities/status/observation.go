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

// moduleName returns the name under which a Manifest's module was shown or listed.
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

// observation holds everything that a status is made from.
type observation struct {
	kyma      *v1beta2.Kyma
	manifests []v1beta2.Manifest
	view      resolve.View
	in        ReportInput
	now       time.Time
	// answered is true if the remote cluster has just accepted the copy of the status.
	answered bool
	// pullSecret is true if an image pull Secret is configured.
	pullSecret bool
	// watching is true if remote clusters send events.
	watching bool
	// purge is when a Kyma under deletion is purged. Zero means never. purgeProblem says why the Kyma's annotation is
	// ignored.
	purge        time.Time
	purgeProblem string
}

// operationText is a message and its hint.
type operationText struct{ message, hint string }

// worst returns the fault that affects the whole Kyma and that people should fix first.
func (o observation) worst() fault.Fault { return o.in.Faults.ToReport() }

// held returns why removals of this Kyma's modules wait for the removal budget. It is zero if none waits.
func (o observation) held() fault.Fault {
	if f := o.in.Faults[fault.PartResolve]; f.Reason == budget.ReasonHeld {
		return f
	}
	return fault.Fault{}
}

// heldSince returns since when removals wait.
func (o observation) heldSince() *metav1.Time {
	if o.held().IsZero() {
		return nil
	}
	if since := o.kyma.Status.RemovalHeldSince; since != nil {
		return since
	}
	return new(seconds(o.now))
}

// waits reports whether a Manifest's status says what its removal waits for. A message from before the removal does not
// count.
func waits(m *v1beta2.Manifest) bool {
	switch m.Status.State {
	case shared.StateDeleting, shared.StateWarning, shared.StateError:
		return m.Status.LastOperation != nil && !m.DeletionTimestamp.IsZero() && m.Status.LastOperation.Operation != ""
	default:
		return false
	}
}

// seconds returns the time without fractions of a second, as it is stored.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
