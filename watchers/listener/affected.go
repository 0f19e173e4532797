package listener

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/internal/queue"
)

// Reasons of kicks. They are label values of a metric, so they name no object.
const (
	// ReasonKyma: the remote Kyma changed.
	ReasonKyma = "the remote Kyma changed"
	// ReasonModule: an object of a module changed, such as its default custom resource.
	ReasonModule = "an object of the module changed in the remote cluster"
	// ReasonOther: an object changed that belongs to no known module.
	ReasonOther = "an object of no module changed in the remote cluster"
)

var (
	errUnknown   = errors.New("no Kyma has this runtime id")
	errAmbiguous = errors.New("several Kymas have this runtime id")
)

// kymaOf returns the Kyma of this instance with a runtime id. The object belongs to the cache and must not be modified.
func (l *Listener) kymaOf(ctx context.Context, runtimeID string) (*v1beta2.Kyma, error) {
	var list v1beta2.KymaList
	if err := l.options.Kymas.List(ctx, &list, client.MatchingFields{fleet.IndexRuntimeID: runtimeID}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find the Kyma of a runtime id: %w", err)
	}
	var found *v1beta2.Kyma
	for i := range list.Items {
		switch kyma := &list.Items[i]; {
		case !l.options.Ours(kyma.Labels):
		case found != nil:
			return nil, errAmbiguous
		default:
			found = kyma
		}
	}
	if found == nil {
		return nil, errUnknown
	}
	return found, nil
}

// itemsFor returns the kicks for an event in the cluster of a Kyma.
func (l *Listener) itemsFor(ctx context.Context, kyma *v1beta2.Kyma, e shared.RemoteEvent) ([]queue.Item, error) {
	now := l.options.Now()
	whole := func(reason string) []queue.Item {
		return []queue.Item{{Entity: queue.Entity{Kyma: kick.RefOf(kyma)}, Since: now, Kick: kick.Kick{
			Reason: reason, Kind: shared.KindKyma, Namespace: kyma.Namespace, Name: kyma.Name,
		}.SeenAt(now)}}
	}
	if kindOf(e) == (schema.GroupKind{Group: shared.OperatorGroup, Kind: shared.KindKyma}) {
		return whole(ReasonKyma), nil
	}
	var list v1beta2.ManifestList
	err := l.options.Manifests.List(ctx, &list, client.InNamespace(kyma.Namespace),
		client.MatchingFields{fleet.IndexKymaUID: string(kyma.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the Manifests of Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
	}
	affected := affectedBy(e, list.Items)
	if len(affected) == 0 {
		// A module may have just created the object, or the kind of the object belongs to no module.
		return whole(ReasonOther), nil
	}
	return lists.Map(affected, func(m *v1beta2.Manifest) queue.Item {
		return queue.Item{
			Entity: queue.Entity{Kyma: kick.RefOf(kyma), Manifest: kick.RefOf(m)}, Since: now, Kick: kick.Kick{
				Reason: ReasonModule, Kind: shared.KindOfInstallation(m.Name), Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
				Deleting: !m.DeletionTimestamp.IsZero(),
			}.SeenAt(now),
		}
	}), nil
}

// affectedBy returns the Manifests of a Kyma that an event concerns: those with the object as their default custom
// resource or in their inventory. If there are none, it returns those with a default custom resource of the same kind,
// because users create such resources themselves.
func affectedBy(e shared.RemoteEvent, manifests []v1beta2.Manifest) []*v1beta2.Manifest {
	kind, object := kindOf(e), types.NamespacedName{Namespace: e.Watched.Namespace, Name: e.Watched.Name}
	ids := map[string]bool{}
	if id, err := v1beta2.InventoryID(kind, object); err == nil {
		ids[id] = true
	}
	var exactly, ofKind []*v1beta2.Manifest
	for i := range manifests {
		m := &manifests[i]
		if desired.InControlPlane(m) {
			continue
		}
		named, same := defaultCR(m, kind, object)
		switch {
		case named || fleet.Claims(m, ids):
			exactly = append(exactly, m)
		case same:
			ofKind = append(ofKind, m)
		}
	}
	if len(exactly) > 0 {
		return exactly
	}
	return ofKind
}

// defaultCR reports whether an object is the default custom resource of a Manifest, and whether it is of the same kind.
func defaultCR(m *v1beta2.Manifest, kind schema.GroupKind, object types.NamespacedName) (named, same bool) {
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, name := inventory.RecordedCR(recorded)
		same = gvk.GroupKind() == kind
		return same && name == object, same
	}
	// Decoding is the most expensive part, so skip it if the kind does not occur.
	if m.Spec.Resource == nil || !bytes.Contains(m.Spec.Resource.Raw, []byte(`"`+kind.Kind+`"`)) {
		return false, false
	}
	cr, err := m.Spec.DefaultCR()
	if err != nil || cr == nil {
		return false, false
	}
	same = cr.GroupVersionKind().GroupKind() == kind
	// If the spec has no namespace, the effective namespace is not known here.
	return same && cr.GetName() == object.Name && (cr.GetNamespace() == "" || cr.GetNamespace() == object.Namespace), same
}

func kindOf(e shared.RemoteEvent) schema.GroupKind {
	return schema.GroupKind{Group: e.WatchedGVK.Group, Kind: e.WatchedGVK.Kind}
}
