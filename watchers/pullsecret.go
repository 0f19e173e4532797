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
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// pullSecretRequest says that the image pull Secret changed.
type pullSecretRequest struct{ Cause cause }

type pullSecretQueue = workqueue.TypedRateLimitingInterface[pullSecretRequest]

// addPullSecret wakes every synchronized Kyma when the image pull Secret changes, spread as a change of the catalog
// is. What changed while nobody watched is in each Kyma's digest. The one Secret has a cache of its own, for the
// others are chosen by a label that it does not have.
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
		return fmt.Errorf("make the cache of the image pull Secret: %w", err)
	}
	if err := mgr.Add(one); err != nil {
		return err
	}
	return builder.TypedControllerManagedBy[pullSecretRequest](mgr).Named("image-pull-secret").
		WatchesRawSource(source.TypedKind(one, fleet.SecretMetadata(), pullSecretEvents(name))).
		Complete(reconcile.TypedFunc[pullSecretRequest](w.kickForPullSecret))
}

func pullSecretEvents(name string) handler.TypedFuncs[*metav1.PartialObjectMetadata, pullSecretRequest] {
	add := func(secret *metav1.PartialObjectMetadata, q pullSecretQueue) {
		if secret.Name == name && secret.Namespace == shared.NamespaceControlPlane {
			q.Add(pullSecretRequest{causeOf(kindSecret, secret)})
		}
	}
	return handler.TypedFuncs[*metav1.PartialObjectMetadata, pullSecretRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*metav1.PartialObjectMetadata], q pullSecretQueue) {
			if !e.IsInInitialList {
				add(e.Object, q)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*metav1.PartialObjectMetadata], q pullSecretQueue) {
			if e.ObjectOld.ResourceVersion != e.ObjectNew.ResourceVersion {
				add(e.ObjectNew, q)
			}
		},
		// A deletion removes nothing: the status says it after the next reconcile.
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*metav1.PartialObjectMetadata], q pullSecretQueue) {
			add(e.Object, q)
		},
	}
}

// kickForPullSecret kicks every Kyma that has a remote cluster, each at its own share of the spread.
func (w *watcher) kickForPullSecret(ctx context.Context, req pullSecretRequest) (reconcile.Result, error) {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the Kymas that get the image pull Secret: %w", err)
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !w.Settings.Ours(kyma.Labels) || desired.IsSyncedCopy(kyma) || !kyma.DeletionTimestamp.IsZero() ||
			!desired.SyncOf(kyma, w.Settings).Enabled {
			continue
		}
		// Without its resource version: the informer of access Secrets never hears of this one, and must not be waited for.
		k := kick.Kick{
			Reason: "image pull Secret changed", Kind: kindSecret, Namespace: req.Cause.Namespace, Name: req.Cause.Name,
			NotBefore: w.turn(kyma, req.Cause.ResourceVersion),
		}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, kick.RefOf(kyma), k) }); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// turn is when it is this Kyma's turn in the roll-out of a change; nil means now.
func (w *watcher) turn(kyma *v1beta2.Kyma, change string) *time.Time {
	delay := desired.RolloutDelay(kyma.UID, change, w.Settings.RolloutSpread)
	if delay <= 0 {
		return nil
	}
	at := w.Now().Add(delay)
	return &at
}
