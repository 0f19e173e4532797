package manifests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Reasons why nothing is done for a Manifest, or not yet.
const (
	// ReasonNotOwned means that no Kyma owns the Manifest, so nobody asked for the module.
	ReasonNotOwned = "NotOwnedByKyma"
	// ReasonNotDecided means that no plan decided to install the Manifest's module in the control plane's own cluster.
	ReasonNotDecided = "TargetNotDecided"
	// ReasonEdited means that the Manifest's spec was edited by hand and is about to be restored.
	ReasonEdited = "SpecEdited"
	// ReasonAwaitsPlan means that upstream wrote the Manifest's spec and installed the module, and the Kyma has not been
	// reconciled since.
	ReasonAwaitsPlan = "AwaitsTakeOver"
	// ReasonNotPlanned means that the Manifest differs from its Kyma's plan, or is in no plan.
	ReasonNotPlanned = "NotPlanned"
	// ReasonNotSigned means that signatures are required, but the plan was made before they were.
	ReasonNotSigned = "NotSigned"
	// ReasonManifestChanged means that the Manifest keeps changing while it is reconciled.
	ReasonManifestChanged = "ManifestChanged"
)

// ErrChanged means that the Manifest has changed since it was read, so a step for it must not continue.
var ErrChanged = errors.New("the Manifest changed")

// Read reads the Manifest live. It returns nil if the Manifest does not exist or has another uid.
func (a *Steps) Read(ctx context.Context, ref kick.Ref) (*v1beta2.Manifest, error) {
	m := &v1beta2.Manifest{}
	err := a.Options.ControlPlane.Get(ctx, ref.Key(), m)
	if err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("read Manifest %s: %w", ref, err))
	}
	if m.UID != ref.UID {
		return nil, nil //nolint:nilnil // another Manifest with the same name does not count
	}
	return m, nil
}

// Unchanged reads the Manifest's metadata live. It returns ErrChanged if a step for the Manifest must not continue.
func (a *Steps) Unchanged(ctx context.Context, m *v1beta2.Manifest) error {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindManifest))
	err := a.Options.ControlPlane.Get(ctx, client.ObjectKeyFromObject(m), now)
	if apierrors.IsNotFound(err) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("read Manifest %s/%s again: %w", m.Namespace, m.Name, err)
	}
	if !isSame(now, m) {
		return ErrChanged
	}
	return nil
}

// rereadAfter is the maximum age of the last live read of a Manifest when the next stage of its installation begins.
// Most modules are installed within this time, in about six stages.
const rereadAfter = time.Second

// MayBeginStage is Unchanged before another stage of an installation. Within rereadAfter of the last live read, the
// informer is enough, because it learns of a change at once.
func (a *Steps) MayBeginStage(ctx context.Context, m *v1beta2.Manifest, asOf *time.Time) error {
	known := &v1beta2.Manifest{}
	recently := !a.Options.Known.IsLive() && time.Since(*asOf) < rereadAfter
	if recently && a.Options.Fleet.Get(ctx, client.ObjectKeyFromObject(m), known) == nil &&
		(isSame(known, m) || desired.Older(known.ResourceVersion, m.ResourceVersion)) {
		return nil
	}
	began := time.Now()
	if err := a.Unchanged(ctx, m); err != nil {
		return err
	}
	*asOf = began
	return nil
}

// isSame reports whether a decision about a Manifest is still valid.
func isSame(now, decided metav1.Object) bool {
	return now.GetUID() == decided.GetUID() && now.GetGeneration() == decided.GetGeneration() &&
		now.GetDeletionTimestamp().IsZero() == decided.GetDeletionTimestamp().IsZero()
}

// RemoteNamespace returns the namespace of objects that name none (docs/contract.md#namespaces-and-defaults).
func (a *Steps) RemoteNamespace(m *v1beta2.Manifest) string {
	return cmp.Or(m.Annotations[desired.AnnotationRemoteNamespace], a.Options.RemoteNamespace)
}

// WriteStatus changes the status, with the resourceVersion that was read. It writes nothing if nothing changes, and
// updates m in place. It returns a fault.Transient error on a conflict, because another client wrote the Manifest.
func (a *Steps) WriteStatus(ctx context.Context, m *v1beta2.Manifest, change func(*v1beta2.ManifestStatus)) (bool, error) {
	next := m.DeepCopy()
	change(&next.Status)
	if equality.Semantic.DeepEqual(m.Status, next.Status) {
		return false, nil
	}
	err := a.Options.ControlPlane.Status().Update(ctx, next)
	if apierrors.IsConflict(err) {
		return false, fault.New(fault.Transient, clusters.ReasonConflict, "write the status of Manifest %s/%s: %w", m.Namespace, m.Name, err)
	}
	if err != nil {
		return false, fmt.Errorf("write the status of Manifest %s/%s: %w", m.Namespace, m.Name, err)
	}
	next.DeepCopyInto(m)
	return true, nil
}

// RecordStatus records what was done. That is true whatever else has changed, so after a conflict RecordStatus
// repeats the change on the present status. Only activities on Manifests write these fields, one at a time.
func (a *Steps) RecordStatus(ctx context.Context, m *v1beta2.Manifest, change func(*v1beta2.ManifestStatus)) error {
	return RetryOnConflict(func() error {
		_, err := a.WriteStatus(ctx, m, change)
		if !IsConflict(err) {
			return err
		}
		now, readErr := a.Read(ctx, kick.RefOf(m))
		if readErr != nil {
			return readErr
		}
		if now == nil {
			return ErrChanged
		}
		*m = *now
		return err
	})
}
