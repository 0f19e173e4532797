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

// EventAdopted: the objects that upstream installed for a Manifest are in its inventory now.
const EventAdopted = "AdoptedFromUpstream"

// Adopt gives a Manifest that upstream worked on its inventory, and the record of its default custom resource. Nothing in
// the cluster is changed. Where anything of it could not be read, nothing is recorded: that is an error, also where the
// cluster cannot be reached, for there is something in it. A Manifest of ours costs no request.
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

// Found is what upstream installed for a Manifest.
type Found struct {
	// Cluster is the uid of the cluster where it is.
	Cluster types.UID
	// Entries are the objects, for an inventory.
	Entries []v1beta2.InventoryEntry
	// DefaultCR is the record of the default custom resource; nil where none was created.
	DefaultCR *v1beta2.DefaultCRRecord
	// Unfinished tells whether upstream had an installation or an upgrade under way.
	Unfinished bool
}

// DefaultCRGone tells whether upstream created the default custom resource, and its user has deleted it.
func (f Found) DefaultCRGone() bool { return f.DefaultCR != nil && f.DefaultCR.UID == uidUnknown }

// Read reads all that upstream installed for a Manifest, or fails. It writes nothing.
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

// installedRef identifies the layer that upstream installed completely; empty where none is known. Upstream notes a layer
// at the beginning of the first installation, and from then on after it was installed.
func installedRef(m *v1beta2.Manifest) string {
	if !meta.IsStatusConditionTrue(m.Status.Conditions, string(shared.ConditionInstallation)) {
		return ""
	}
	return m.Annotations[shared.AnnotationSyncOCIRef]
}
