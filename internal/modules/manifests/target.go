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

// If a Manifest alone decided what to install, anybody who may write Manifests could install anything with our
// permissions. So a Manifest is reconciled only if a Kyma of this instance owns it, and installed only as that Kyma's
// plan decided (plan.go).

// Ownership describes whether this instance works on a Manifest.
type Ownership struct {
	// Kyma owns the Manifest. It is nil if the Kyma no longer exists and the module only has to be removed.
	Kyma *v1beta2.Kyma
	// Refusal is why nothing is done for the Manifest; nil if something may be done.
	Refusal *readiness.Observed
	// Orphaned is true if the Kyma was deleted without its Manifests, and this Manifest is being deleted now. Its
	// objects then remain.
	Orphaned bool
	// OtherInstance is true if the Kyma belongs to another instance, which also reports about it.
	OtherInstance bool
}

// CheckOwnership returns whether this instance works on a Manifest. It reads the Kyma from a cache, and from the API
// server if the cache does not have it.
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
		return Ownership{}, nil // the Kyma was deleted before its modules were removed
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

// ownerIn reads the Kyma of an owner reference; nil if it does not exist.
func (a *Steps) ownerIn(ctx context.Context, reader client.Reader, m *v1beta2.Manifest, owner *metav1.OwnerReference) (*v1beta2.Kyma, error) {
	kyma := &v1beta2.Kyma{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: owner.Name}, kyma)
	if apierrors.IsNotFound(err) || err == nil && kyma.UID != owner.UID {
		return nil, nil //nolint:nilnil // a deleted Kyma is an ordinary case
	}
	if err != nil {
		return nil, fmt.Errorf("read Kyma %s/%s, to which Manifest %s belongs: %w", m.Namespace, owner.Name, m.Name, err)
	}
	return kyma, nil
}

// Target gives access to the Manifest's cluster: its Kyma's cluster, or the control plane.
func (a *Steps) Target(ctx context.Context, m *v1beta2.Manifest) (*clusters.Cluster, error) {
	return a.access(ctx, m, a.Options.Clusters.ForKyma)
}

// Reach is Target for a caller that only reads. It does not read the access Secret again if access is already known.
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
		return nil, fault.New(fault.Rejected, ReasonNotOwned, "Manifest %s belongs to another instance", inventory.MarkOf(m))
	}
	if desired.InControlPlane(m) || desired.ByLocalClient(m) {
		if m.DeletionTimestamp.IsZero() && !a.Options.Settings.LocalClientAllowed() {
			// Objects that were installed while this was allowed can still be removed.
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
