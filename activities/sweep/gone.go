package sweep

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// missedRemoval returns the kick for a Manifest that is gone but still listed in the Kyma's status, or nil if there is
// none. Watchers normally send this kick when they see the removal. While no process leads, nobody does, and the next
// leader lists only existing objects. Without the kick, the module would be Deleting forever, or never be created again.
//
// The status also lists Manifests that will be created. Before a reconcile with the current inputs (digest), such a
// Manifest may not exist yet: the reconcile waits for its turn, or for a reachable cluster. If a Manifest is still
// missing after that reconcile, its creation was refused. This is why a Kyma is reminded of the same name at growing
// intervals.
func (w *walk) missedRemoval(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest, digest string) *kick.Kick {
	if kyma.IsMarkedUnreachable() {
		return nil // nothing can be done about it
	}
	current := digest == kyma.Status.InputsDigest
	var names []string
	waits := false
	for _, module := range kyma.Status.Modules {
		switch {
		case module.Manifest != nil:
			names = append(names, module.Manifest.Metadata.Name)
		case module.State == shared.StateDeleting:
			waits = current // waits for a Manifest of an earlier Kyma, which is not listed in this status
		}
	}
	if current {
		names = desired.Recorded(names, kyma.Status.Manifests)
	}
	missing, err := w.firstMissing(ctx, kyma.Namespace, names, modules)
	if err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot read whether a Manifest is gone", about(kyma, err)...)
		return nil
	}
	if missing == "" && !waits {
		w.missed.forget(kyma.UID)
		return nil
	}
	if !w.missed.due(kyma.UID, missing, w.options.Now(), w.options.Interval) {
		return nil
	}
	return &kick.Kick{Reason: "a Manifest is gone that the status has", Kind: shared.KindOfInstallation(missing), Namespace: kyma.Namespace, Name: missing, Gone: true}
}

// firstMissing returns the first of these Manifests that does not exist, or "" if all exist.
func (w *walk) firstMissing(ctx context.Context, namespace string, names []string, modules []v1beta2.Manifest) (string, error) {
	for _, name := range names {
		if slices.ContainsFunc(modules, func(m v1beta2.Manifest) bool { return m.Name == name }) {
			continue
		}
		// The cache may not have it yet, or it belongs to another Kyma.
		err := w.options.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1beta2.Manifest{})
		if apierrors.IsNotFound(err) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("read Manifest %s: %w", name, err)
		}
	}
	return "", nil
}
