package sync

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// uidToCome is the uid of a remote Kyma that does not exist yet.
const uidToCome = "not-created-yet"

// Preview returns a Kyma as its first synchronization will leave it: with what the remote Kyma asks for, or with what the
// remote Kyma will be created with. It writes nothing. If the Kyma was synchronized before, Preview returns it unchanged.
func Preview(ctx context.Context, kyma *v1beta2.Kyma, settings desired.Settings, there client.Reader) (*v1beta2.Kyma, error) {
	s := desired.SyncOf(kyma, settings)
	if !s.Enabled || desired.IsAccepted(kyma) {
		return kyma, nil
	}
	found := &v1beta2.Kyma{}
	err := there.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, found)
	switch {
	case apierrors.IsNotFound(err) || remote.KindMissing(err):
		found = newRemoteKyma(kyma, s)
		found.UID = uidToCome
	case err != nil:
		return nil, clusters.Classify(fmt.Errorf("read remote Kyma %s/%s: %w", s.Namespace, s.Name, err))
	}
	if !found.DeletionTimestamp.IsZero() {
		return nil, beingDeleted(found)
	}
	if problem := desired.CheckRemote(found.Spec.Channel, found.Spec.Modules); problem != "" {
		f := invalidRemote(found, problem)
		return nil, fault.New(f.Kind, f.Reason, "%s", f.Message)
	}
	preview := kyma.DeepCopy()
	preview.Status.Remote = new(acceptedFrom(cmp.Or(kyma.Status.Remote, &v1beta2.RemoteStatus{}), found))
	return preview, nil
}
