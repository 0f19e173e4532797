package sweep

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// missedRemoval is the kick for a Manifest that is gone and that the status of its Kyma still has; nil where there is none.
// Watchers send it when they see the removal, which nobody does while no process leads: the next leader lists only what
// there is. A module would be Deleting for ever, or never be created again.
func (w *walk) missedRemoval(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest) *kick.Kick {
	k := &kick.Kick{Reason: "a Manifest is gone that the status has", Kind: "Manifest", Namespace: kyma.Namespace, Gone: true}
	var shown []string
	for _, module := range kyma.Status.Modules {
		switch {
		case module.Manifest != nil:
			shown = append(shown, module.Manifest.Metadata.Name)
		case module.State == shared.StateDeleting:
			return k // it waits for a Manifest of an earlier Kyma, whose name the status does not have
		}
	}
	for _, name := range desired.Recorded(kyma.Status.Manifests, shown) {
		if slices.ContainsFunc(modules, func(m v1beta2.Manifest) bool { return m.Name == name }) {
			continue
		}
		// The cache may not have it yet, or it is another Kyma's.
		err := w.options.Live.Get(ctx, client.ObjectKey{Namespace: kyma.Namespace, Name: name}, &v1beta2.Manifest{})
		if apierrors.IsNotFound(err) {
			k.Name = name
			return k
		}
	}
	return nil
}
