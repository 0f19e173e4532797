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

// missedRemoval is the kick for a Manifest that is gone and that the status of its Kyma still has; nil where there is none.
// Watchers send it when they see the removal, which nobody does while no process leads: the next leader lists only what
// there is. A module would be Deleting for ever, or never be created again.
//
// The status also has the names of Manifests that are to be created. Until a reconcile with the present inputs, whose digest
// is given, one of those may not have been created yet: that reconcile waits for its turn, or for a cluster that can be
// reached. After it, one that is missing still was refused, which is why a Kyma is reminded of the same name ever more rarely.
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
			waits = current // for a Manifest of an earlier Kyma, whose name the status does not have
		}
	}
	if current {
		names = desired.Recorded(names, kyma.Status.Manifests)
	}
	missing, err := w.firstMissing(ctx, kyma.Namespace, names, modules)
	if err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot tell whether a Manifest is gone", about(kyma, err)...)
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

// firstMissing is the first of these Manifests that does not exist; empty where all do.
func (w *walk) firstMissing(ctx context.Context, namespace string, names []string, modules []v1beta2.Manifest) (string, error) {
	for _, name := range names {
		if slices.ContainsFunc(modules, func(m v1beta2.Manifest) bool { return m.Name == name }) {
			continue
		}
		// The cache may not have it yet, or it is another Kyma's.
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
