package adoption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// EventAdopted is the reason of the Event that Adopt records: the objects that upstream installed for a Manifest are
// now in its inventory.
const EventAdopted = "AdoptedFromUpstream"

// Adopt gives a Manifest that upstream installed its inventory and the record of its default custom resource. Adopt
// changes nothing in the cluster. If any object cannot be read, or the cluster cannot be reached, Adopt records
// nothing and returns an error, because the cluster does hold objects of the module. A Manifest of ours costs no
// request.
func Adopt(ctx context.Context, steps *manifests.Steps, m *v1beta2.Manifest) error {
	if !manifests.IsUpstreams(m) {
		return nil
	}
	cluster, err := steps.Target(ctx, m)
	if err != nil {
		return err
	}
	found, err := Read(ctx, cluster, m, steps.RemoteNamespace(m))
	if err != nil {
		return err
	}
	_, err = steps.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, found.Entries)
		s.DefaultCR, s.Cluster, s.InstalledRef = found.DefaultCR, string(found.Cluster), installedRef(m)
		if s.InstalledRef == inventory.LayersRef(m) {
			s.InstalledVersion = m.Spec.Version
		}
	})
	if err != nil {
		return err
	}
	steps.Recorder.Record(m, corev1.EventTypeNormal, EventAdopted,
		fmt.Sprintf("took over %d objects of module %s that upstream had installed", len(found.Entries), m.ModuleName()))
	return nil
}

// Found describes what upstream installed for a Manifest.
type Found struct {
	// Cluster is the uid of the cluster that holds the objects.
	Cluster types.UID
	// Entries are the objects, for an inventory.
	Entries []v1beta2.InventoryEntry
	// DefaultCR is the record of the default custom resource; nil if upstream created none.
	DefaultCR *v1beta2.DefaultCRRecord
	// Unfinished reports whether an installation or upgrade by upstream was in progress.
	Unfinished bool
}

// DefaultCRGone reports whether upstream created the default custom resource and a user has since deleted it.
func (f Found) DefaultCRGone() bool { return f.DefaultCR != nil && f.DefaultCR.UID == uidUnknown }

// Read reads everything that upstream installed for a Manifest, or returns an error. It writes nothing.
func Read(ctx context.Context, cluster *clusters.Cluster, m *v1beta2.Manifest, remoteNamespace string) (Found, error) {
	at, err := cluster.UID(ctx)
	if err != nil {
		return Found{}, manifests.Unidentified(m, err)
	}
	entries, err := installed(ctx, cluster, m)
	if err != nil {
		return Found{}, clusters.Classify(fmt.Errorf("read what upstream installed for Manifest %s: %w", inventory.MarkOf(m), err))
	}
	record, err := defaultCR(ctx, cluster, m, remoteNamespace)
	if err != nil {
		return Found{}, clusters.Classify(fmt.Errorf("read the default custom resource of Manifest %s: %w", inventory.MarkOf(m), err))
	}
	return Found{Cluster: at, Entries: entries, DefaultCR: record, Unfinished: installedRef(m) != inventory.LayersRef(m)}, nil
}

// installedRef identifies the layer that upstream installed completely; empty if none is known. Upstream records a
// layer when the first installation begins, and later layers only after their installation.
func installedRef(m *v1beta2.Manifest) string {
	if !meta.IsStatusConditionTrue(m.Status.Conditions, string(shared.ConditionInstallation)) {
		return ""
	}
	return m.Annotations[shared.AnnotationSyncOCIRef]
}
