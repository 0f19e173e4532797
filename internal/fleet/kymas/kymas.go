// Package kymas is how every activity on a Kyma begins: it reads the Kyma live, makes sure that it has
// the uid that is meant and is ours to work on, and writes the finalizer before anything is done that would
// have to be undone.
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

// Ownership says what a Kyma is to this instance.
type Ownership string

const (
	// Gone: it does not exist, or is another one of the same name.
	Gone Ownership = "Gone"
	// NotOurs: another instance manages it.
	NotOurs Ownership = "NotOurs"
	// Copy: it was brought by a synchronization and is no Kyma of its own.
	Copy Ownership = "Copy"
	// Deleting: it is being deleted, which goes on whatever its labels say.
	Deleting Ownership = "Deleting"
	// Skipped: its label says to leave it alone.
	Skipped Ownership = "Skipped"
	// Ours: it is to be worked on.
	Ours Ownership = "Ours"
)

// Read reads the Kyma live. The Kyma is nil when it is Gone.
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

// ReadNext returns the Kyma as the step before left it in this process, and reads it live unless seen names that version.
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

// ReadFirst is Read for the synchronization, which comes first. A new Kyma comes from the informer and gets its finalizer
// here: the write succeeds only if nobody else wrote since.
func ReadFirst(ctx context.Context, known *fleet.Fleet, c client.Client, settings desired.Settings, ref kick.Ref) (*v1beta2.Kyma, Ownership, error) {
	kyma := known.NewKyma(ctx, ref)
	if kyma != nil && ownershipOf(kyma, settings) == Ours && desired.SyncOf(kyma, settings).Enabled && !controllerutil.ContainsFinalizer(kyma, shared.FinalizerKyma) &&
		AddFinalizer(ctx, c, settings, kyma) == nil {
		return kyma, ownershipOf(kyma, settings), nil
	}
	return Read(ctx, c, settings, ref)
}

// Keep keeps the Kyma for the next step. It returns the version that the next step must name, empty if nothing is kept.
func Keep(known *fleet.Fleet, kyma *v1beta2.Kyma) string {
	if known.IsLive() {
		return ""
	}
	known.Keep(kyma)
	return kyma.ResourceVersion
}

// AddFinalizer writes our finalizer and the label that says whose the Kyma is, where they are missing. The Kyma is
// updated in place, so that later writes carry its new resource version.
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

// OtherFinalizers are the finalizers of a Kyma that are not ours to take off.
func OtherFinalizers(kyma metav1.Object) []string {
	return lists.Filter(kyma.GetFinalizers(), func(finalizer string) bool {
		// Earlier generations set a finalizer of its own for the purge.
		return finalizer != shared.FinalizerKyma && finalizer != shared.FinalizerPurge
	})
}

// Released tells whether a Kyma is being deleted and none of our finalizers holds it: what is left of it waits for
// others, and there is nothing to do for us.
func Released(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && len(OtherFinalizers(kyma)) == len(kyma.Finalizers)
}
