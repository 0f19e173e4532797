// Package kymas is the first step of every activity on a Kyma. It reads the Kyma live, verifies its uid and ownership,
// and writes the finalizer before any work that must be undone later.
package kymas

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

// Ownership is the relation of a Kyma to this instance.
type Ownership string

const (
	// Gone: the Kyma does not exist, or another one has its name.
	Gone Ownership = "Gone"
	// NotOurs: another instance manages the Kyma.
	NotOurs Ownership = "NotOurs"
	// Copy: a synchronization wrote this copy of a Kyma.
	Copy Ownership = "Copy"
	// Deleting: the Kyma is being deleted. Its labels do not stop that.
	Deleting Ownership = "Deleting"
	// Skipped: the Kyma's label says to leave it alone.
	Skipped Ownership = "Skipped"
	// Ours: the Kyma must be reconciled.
	Ours Ownership = "Ours"
)

// Read reads the Kyma live. The Kyma is nil if it is Gone.
func Read(ctx context.Context, live client.Reader, settings desired.Settings, ref kick.Ref) (*v1beta2.Kyma, Ownership, error) {
	kyma := &v1beta2.Kyma{}
	err := live.Get(ctx, ref.Key(), kyma)
	switch {
	case apierrors.IsNotFound(err):
		return nil, Gone, nil
	case err != nil:
		return nil, "", fmt.Errorf("read Kyma %s: %w", ref, err)
	case kyma.UID != ref.UID:
		return nil, Gone, nil
	}
	return kyma, ownershipOf(kyma, settings), nil
}

// ReadNext returns the Kyma that the previous step in this process left. It reads the Kyma live unless seen names that
// version.
func ReadNext(
	ctx context.Context, known *fleet.Fleet, live client.Reader, settings desired.Settings, ref kick.Ref, seen []desired.Seen,
) (*v1beta2.Kyma, Ownership, error) {
	if kyma := known.TakeKyma(ctx, ref, seen); kyma != nil {
		return kyma, ownershipOf(kyma, settings), nil
	}
	return Read(ctx, live, settings, ref)
}

func ownershipOf(kyma *v1beta2.Kyma, settings desired.Settings) Ownership {
	switch {
	case desired.IsSyncedCopy(kyma):
		return Copy
	case !settings.Ours(kyma.Labels):
		return NotOurs
	case !kyma.DeletionTimestamp.IsZero():
		return Deleting
	case kyma.IsSkipReconciliation():
		return Skipped
	}
	return Ours
}

// ReadFirst is Read for the synchronization, which is the first step. It takes a new Kyma from the informer and writes
// its finalizer: that write succeeds only if the Kyma has not changed since.
func ReadFirst(ctx context.Context, known *fleet.Fleet, c client.Client, settings desired.Settings, ref kick.Ref) (*v1beta2.Kyma, Ownership, error) {
	kyma := known.NewKyma(ctx, ref)
	if kyma != nil && ownershipOf(kyma, settings) == Ours && desired.SyncOf(kyma, settings).Enabled && !controllerutil.ContainsFinalizer(kyma, shared.FinalizerKyma) &&
		AddFinalizer(ctx, c, settings, kyma) == nil {
		return kyma, ownershipOf(kyma, settings), nil
	}
	return Read(ctx, c, settings, ref)
}

// Keep keeps the Kyma for the next step. It returns the version that the next step must name. The version is empty if
// nothing is kept.
func Keep(known *fleet.Fleet, kyma *v1beta2.Kyma) string {
	if known.IsLive() {
		return ""
	}
	known.Keep(kyma)
	return kyma.ResourceVersion
}

// AddFinalizer writes our finalizer, and the label that names the managing instance, if they are missing. It updates
// the Kyma in place, so that later writes have its new resource version.
func AddFinalizer(ctx context.Context, c client.Client, settings desired.Settings, kyma *v1beta2.Kyma) error {
	before := kyma.DeepCopy()
	changed := controllerutil.AddFinalizer(kyma, shared.FinalizerKyma)
	if kyma.Labels[shared.LabelManagedBy] == "" {
		metav1.SetMetaDataLabel(&kyma.ObjectMeta, shared.LabelManagedBy, settings.WithDefaults().ManagedBy)
		changed = true
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, kyma, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("write finalizer and label of Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
	}
	requeue.Wrote(ctx, requeue.KymaLabelsAndFinalizers)
	return nil
}

// OtherFinalizers returns the finalizers of a Kyma that we must not remove.
func OtherFinalizers(kyma metav1.Object) []string {
	return lists.Filter(kyma.GetFinalizers(), func(finalizer string) bool {
		// Earlier generations set an additional finalizer for the purge.
		return finalizer != shared.FinalizerKyma && finalizer != shared.FinalizerPurge
	})
}

// Released reports whether a Kyma is being deleted without any finalizer of ours. It only waits for others, and we have
// nothing left to do.
func Released(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && len(OtherFinalizers(kyma)) == len(kyma.Finalizers)
}
