// Package kymas is how every activity on a Kyma begins: it reads the Kyma live, makes sure that it has
// the uid that is meant and is ours to work on, and writes the finalizer before anything is done that would
// have to be undone.
package kymas

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/requeue"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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
	case desired.IsSyncedCopy(kyma):
		return kyma, Copy, nil
	case !settings.Ours(kyma.Labels):
		return kyma, NotOurs, nil
	case !kyma.DeletionTimestamp.IsZero():
		return kyma, Deleting, nil
	case kyma.IsSkipReconciliation():
		return kyma, Skipped, nil
	}
	return kyma, Ours, nil
}

// AddFinalizer writes our finalizer and the label that says whose the Kyma is, where they are missing. The Kyma is
// updated in place, so that later writes carry its new resource version.
func AddFinalizer(ctx context.Context, c client.Client, settings desired.Settings, kyma *v1beta2.Kyma) error {
	before := kyma.DeepCopy()
	changed := controllerutil.AddFinalizer(kyma, shared.FinalizerKyma)
	if kyma.Labels[shared.LabelManagedBy] == "" {
		if kyma.Labels == nil {
			kyma.Labels = map[string]string{}
		}
		kyma.Labels[shared.LabelManagedBy] = settings.WithDefaults().ManagedBy
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
