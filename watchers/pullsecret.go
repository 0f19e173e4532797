package watchers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// pullSecretRequest reports that the image pull Secret changed.
type pullSecretRequest struct{ Cause cause }

type pullSecretQueue = workqueue.TypedRateLimitingInterface[pullSecretRequest]

// addPullSecret wakes every synchronized Kyma when the image pull Secret changes, spread like a catalog change. The
// digest of each Kyma covers changes made while no leader was watching. This Secret has its own cache, because the
// other cache selects Secrets by a label that this Secret does not have.
func (w *watcher) addPullSecret(mgr manager.Manager) error {
	name := w.Settings.ImagePullSecret
	if name == "" {
		return nil
	}
	one, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{fleet.SecretMetadata(): {
			Namespaces: map[string]cache.Config{shared.NamespaceControlPlane: {}},
			Field:      fields.OneTermEqualSelector("metadata.name", name),
		}},
	})
	if err != nil {
		return fmt.Errorf("create the cache for the image pull Secret: %w", err)
	}
	if err := mgr.Add(one); err != nil {
		return err
	}
	return builder.TypedControllerManagedBy[pullSecretRequest](mgr).Named("image-pull-secret").
		WatchesRawSource(source.TypedKind(one, fleet.SecretMetadata(), pullSecretEvents(name))).
		Complete(reconcile.TypedFunc[pullSecretRequest](w.kickForPullSecret))
}

func pullSecretEvents(name string) handler.TypedFuncs[*metav1.PartialObjectMetadata, pullSecretRequest] {
	// Deleting the Secret removes nothing from clusters. The next reconcile reports it in the status.
	return newsOf(isWritten, func(_ context.Context, _, secret *metav1.PartialObjectMetadata, q pullSecretQueue) {
		if secret.Name == name && secret.Namespace == shared.NamespaceControlPlane {
			q.Add(pullSecretRequest{causeOf(kindSecret, secret)})
		}
	})
}

// kickForPullSecret kicks every Kyma that has a remote cluster, each at its turn in the pacing span.
func (w *watcher) kickForPullSecret(ctx context.Context, req pullSecretRequest) (reconcile.Result, error) {
	return reconcile.Result{}, w.kickSynchronized(ctx, "get the image pull Secret", func(kyma *v1beta2.Kyma) kick.Kick {
		return kick.Kick{
			Reason: "image pull Secret changed", Kind: kindSecret, Namespace: req.Cause.Namespace, Name: req.Cause.Name,
			NotBefore: w.turn(kyma, req.Cause.ResourceVersion),
		}
	})
}

// turn returns when a Kyma's turn comes in the pacing of a change; nil means now.
func (w *watcher) turn(kyma *v1beta2.Kyma, change string) *time.Time {
	delay := desired.PacingDelay(kyma.UID, change, w.Settings.PacingSpan)
	if delay <= 0 {
		return nil
	}
	return new(w.Now().Add(delay))
}
