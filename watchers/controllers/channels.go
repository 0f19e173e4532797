package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// channelsRequest names a release meta with an outdated channels column.
type channelsRequest struct{ types.NamespacedName }

type channelsQueue = workqueue.TypedRateLimitingInterface[channelsRequest]

// addChannels maintains the annotation that `kubectl get modulereleasemetas` shows as the channels column. A column can
// show only one field, but the channels are a list.
func (c *controllers) addChannels(mgr manager.Manager) error {
	add := func(meta *v1beta2.ModuleReleaseMeta, q channelsQueue) {
		if c.wrongChannels(meta) {
			q.Add(channelsRequest{client.ObjectKeyFromObject(meta)})
		}
	}
	return builder.TypedControllerManagedBy[channelsRequest](mgr).Named("channels").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, handler.TypedFuncs[*v1beta2.ModuleReleaseMeta, channelsRequest]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.ModuleReleaseMeta], q channelsQueue) {
				add(e.Object, q)
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.ModuleReleaseMeta], q channelsQueue) {
				add(e.ObjectNew, q)
			},
		})).
		Complete(reconcile.TypedFunc[channelsRequest](c.showChannels))
}

// wrongChannels reports whether the column of a release meta of this instance differs from its spec. The column of a
// synced copy is maintained where the original is.
func (c *controllers) wrongChannels(meta *v1beta2.ModuleReleaseMeta) bool {
	return c.settings.Ours(meta.Labels) && !desired.IsSyncedCopy(meta) && meta.DeletionTimestamp.IsZero() &&
		meta.Annotations[shared.AnnotationChannels] != desired.ChannelsColumn(meta)
}

func (c *controllers) showChannels(ctx context.Context, req channelsRequest) (reconcile.Result, error) {
	meta := &v1beta2.ModuleReleaseMeta{}
	if err := c.live.Get(ctx, req.NamespacedName, meta); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return c.patch(ctx, meta, func() bool {
		if !c.wrongChannels(meta) {
			return false
		}
		metav1.SetMetaDataAnnotation(&meta.ObjectMeta, shared.AnnotationChannels, desired.ChannelsColumn(meta))
		if meta.Annotations[shared.AnnotationChannels] == "" {
			delete(meta.Annotations, shared.AnnotationChannels)
		}
		return true
	})
}
