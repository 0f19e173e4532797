package manifests

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Whoever may write Manifests could have anything installed with our permissions, if the Manifest alone decided. So it is
// reconciled only where a Kyma of this instance owns it, and installed only as the plan of that Kyma decided it (plan.go).

// Ownership says whether this instance works on a Manifest.
type Ownership struct {
	// Kyma owns the Manifest; nil where it is gone and only what was installed for it is to be removed.
	Kyma *v1beta2.Kyma
	// Refusal says why nothing is done for the Manifest; nil where something may be done.
	Refusal *readiness.Observed
	// Orphaned is true when the Kyma was deleted so that its Manifests remain, and somebody deletes this one now: then
	// what it installed remains.
	Orphaned bool
	// OtherInstance is true when the Kyma belongs to another instance, which reports about it.
	OtherInstance bool
}

// CheckOwnership says whether this instance works on a Manifest. The Kyma is read from a cache, and from the API server
// where the cache does not know it.
func (a *Steps) CheckOwnership(ctx context.Context, m *v1beta2.Manifest) (Ownership, error) {
	owner := metav1.GetControllerOf(m)
	if desired.IsOrphan(m) && !m.DeletionTimestamp.IsZero() {
		return Ownership{Orphaned: true}, nil
	}
	if owner == nil || owner.Kind != shared.KindKyma || !strings.HasPrefix(owner.APIVersion, shared.OperatorGroup+"/") {
		return notOwned("no Kyma owns Manifest %s: nothing is installed, removed or released", inventory.MarkOf(m)), nil
	}
	if m.KymaName() != owner.Name {
		return notOwned("Manifest %s is owned by Kyma %s, but its label %s is %q: nothing is installed, removed or released",
			inventory.MarkOf(m), owner.Name, shared.LabelKymaName, m.KymaName()), nil
	}
	deleting := !m.DeletionTimestamp.IsZero()
	kyma, err := a.ownerIn(ctx, a.Options.Fleet, m, owner)
	if err == nil && (kyma == nil || !a.Options.Settings.Ours(kyma.Labels)) {
		kyma, err = a.ownerIn(ctx, a.Options.ControlPlane, m, owner)
	}
	switch {
	case err != nil:
		return Ownership{}, err
	case kyma == nil && deleting && (desired.IsPlaced(m) || m.Status.DefaultCR != nil):
		return Ownership{}, nil // it is gone before what was installed for it
	case kyma == nil:
		return notOwned("Kyma %s with uid %s, which owns Manifest %s, does not exist: nothing is installed, removed or released",
			owner.Name, owner.UID, inventory.MarkOf(m)), nil
	case desired.IsSyncedCopy(kyma):
		return notOwned("Kyma %s, which owns Manifest %s, is the copy of another one: nothing is installed, removed or released",
			owner.Name, inventory.MarkOf(m)), nil
	case !deleting && !a.Options.Settings.Ours(kyma.Labels):
		return Ownership{Kyma: kyma, OtherInstance: true}, nil
	}
	return Ownership{Kyma: kyma}, nil
}

func notOwned(format string, args ...any) Ownership {
	return Ownership{Refusal: &readiness.Observed{State: shared.StateError, Reason: ReasonNotOwned, Message: fmt.Sprintf(format, args...)}}
}

// ownerIn reads the Kyma that an owner reference means; nil when it does not exist.
func (a *Steps) ownerIn(ctx context.Context, reader client.Reader, m *v1beta2.Manifest, owner *metav1.OwnerReference) (*v1beta2.Kyma, error) {
	kyma := &v1beta2.Kyma{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: owner.Name}, kyma)
	if apierrors.IsNotFound(err) || err == nil && kyma.UID != owner.UID {
		return nil, nil //nolint:nilnil // being gone is an ordinary case
	}
	if err != nil {
		return nil, fmt.Errorf("read Kyma %s/%s, to which Manifest %s belongs: %w", m.Namespace, owner.Name, m.Name, err)
	}
	return kyma, nil
}

// Target gives access to the cluster that the Manifest is for: the one of its Kyma, or the control plane.
func (a *Steps) Target(ctx context.Context, m *v1beta2.Manifest) (*clusters.Cluster, error) {
	return a.access(ctx, m, a.Options.Clusters.ForKyma)
}

// Reach is Target for a caller that only reads: access is not read again where it is known.
func (a *Steps) Reach(ctx context.Context, m *v1beta2.Manifest) (*clusters.Cluster, error) {
	return a.access(ctx, m, a.Options.Clusters.Reach)
}

func (a *Steps) access(ctx context.Context, m *v1beta2.Manifest, to func(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error),
) (*clusters.Cluster, error) {
	ownership, err := a.CheckOwnership(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case ownership.Refusal != nil:
		return nil, fault.New(fault.Rejected, ownership.Refusal.Reason, "%s", ownership.Refusal.Message)
	case ownership.Orphaned:
		return nil, fault.New(fault.Rejected, ReasonNotOwned, "Manifest %s was orphaned when its Kyma was deleted", inventory.MarkOf(m))
	case ownership.OtherInstance:
		return nil, fault.New(fault.Rejected, ReasonNotOwned, "Manifest %s is another instance's", inventory.MarkOf(m))
	}
	if desired.InControlPlane(m) || desired.ByLocalClient(m) {
		if m.DeletionTimestamp.IsZero() && !a.Options.Settings.LocalClientAllowed() {
			// What was installed while it was allowed can still be removed.
			return nil, fault.New(fault.Rejected, desired.ReasonControlPlaneTarget,
				"Manifest %s is for the control plane itself, which is not allowed here", inventory.MarkOf(m))
		}
		return a.Options.Clusters.ControlPlane(), nil
	}
	cluster, err := to(ctx, m.Namespace, m.KymaName())
	if err != nil {
		return nil, err
	}
	return cluster, a.bound(ctx, m, cluster)
}
