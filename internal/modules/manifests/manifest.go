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

// Reasons for which nothing is done for a Manifest, or not yet.
const (
	// ReasonNotOwned: no Kyma owns the Manifest, so that nobody asked for the module.
	ReasonNotOwned = "NotOwnedByKyma"
	// ReasonNotDecided: nobody decided that the Manifest's module goes into the control plane's own cluster.
	ReasonNotDecided = "TargetNotDecided"
	// ReasonEdited: the Manifest's spec was edited by hand, and is about to be restored.
	ReasonEdited = "SpecEdited"
	// ReasonAwaitsPlan: upstream wrote the Manifest's spec and installed the module, and its Kyma was not reconciled since.
	ReasonAwaitsPlan = "AwaitsTakeOver"
	// ReasonNotPlanned: the Manifest is not as the plan of its Kyma decided it, or no plan has it.
	ReasonNotPlanned = "NotPlanned"
	// ReasonNotSigned: signatures are required, and the plan was made before they were.
	ReasonNotSigned = "NotSigned"
	// ReasonManifestChanged: the Manifest keeps changing while it is reconciled.
	ReasonManifestChanged = "ManifestChanged"
)

// ErrChanged means that the Manifest changed since it was read, so that a step for it must not go on.
var ErrChanged = errors.New("the Manifest changed")

// Read reads the Manifest live. It is nil when it does not exist or is another one of the same name.
func (a *Steps) Read(ctx context.Context, ref kick.Ref) (*v1beta2.Manifest, error) {
	m := &v1beta2.Manifest{}
	err := a.Options.ControlPlane.Get(ctx, ref.Key(), m)
	if err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("read Manifest %s: %w", ref, err))
	}
	if m.UID != ref.UID {
		return nil, nil //nolint:nilnil // another one of the same name is as good as none
	}
	return m, nil
}

// Unchanged reads the Manifest's metadata live and returns ErrChanged when a step for it must not go on.
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

// rereadAfter is how old the last live read of a Manifest may be when another stage of its installation begins. A module
// is usually installed within this time, in half a dozen stages.
const rereadAfter = time.Second

// MayBeginStage is Unchanged before another stage of an installation begins. Within rereadAfter of the last live read the
// informer is enough, which is notified of a change at once.
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

// isSame tells whether what was decided for a Manifest is still valid for it.
func isSame(now, decided metav1.Object) bool {
	return now.GetUID() == decided.GetUID() && now.GetGeneration() == decided.GetGeneration() &&
		now.GetDeletionTimestamp().IsZero() == decided.GetDeletionTimestamp().IsZero()
}

// RemoteNamespace is the namespace of objects that name none (docs/contract.md#namespaces-and-defaults).
func (a *Steps) RemoteNamespace(m *v1beta2.Manifest) string {
	return cmp.Or(m.Annotations[desired.AnnotationRemoteNamespace], a.Options.RemoteNamespace)
}

// WriteStatus changes the status with the resourceVersion that was read; nothing is written when nothing
// changes. The Manifest is updated in place. A conflict is a fault.Transient error: somebody else wrote.
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

// RecordStatus writes what was done, which is true whatever else changed meanwhile: after a conflict the change is made
// to the present status. Only activities on Manifests write these fields, one at a time.
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
