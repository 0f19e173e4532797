package watchers

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const kindSecret = "Secret"

// secretRequest asks to kick the Kymas of an access Secret.
type secretRequest struct {
	// Namespace is the Secret's; KymaName is the value of its label.
	Namespace, KymaName string
	Cause               cause
}

type secretQueue = workqueue.TypedRateLimitingInterface[secretRequest]

func (w *watcher) addSecrets(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[secretRequest](mgr).Named("access-secret").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), fleet.SecretMetadata(), secretEvents())).
		Complete(reconcile.TypedFunc[secretRequest](w.kickForSecret))
}

// secretEvents handles the events of access Secrets. The initial list is skipped, because the digest of each Kyma
// covers it.
func secretEvents() handler.TypedFuncs[*metav1.PartialObjectMetadata, secretRequest] {
	return newsOf(isWritten, func(_ context.Context, before, after *metav1.PartialObjectMetadata, q secretQueue) {
		for _, request := range secretRequests(before, after) {
			q.Add(request)
		}
	})
}

// secretRequests returns one request, at the present resourceVersion, for each Kyma that the Secret belonged to or
// belongs to.
func secretRequests(before, after *metav1.PartialObjectMetadata) []secretRequest {
	var requests []secretRequest
	for _, secret := range []*metav1.PartialObjectMetadata{before, after} {
		request := secretRequest{Namespace: secret.Namespace, KymaName: secret.Labels[shared.LabelKymaName], Cause: causeOf(kindSecret, after)}
		if request.KymaName != "" && !slices.Contains(requests, request) {
			requests = append(requests, request)
		}
	}
	return requests
}

// kickForSecret evicts the cached access to a cluster whose access Secret changed, then kicks its Kyma at once.
func (w *watcher) kickForSecret(ctx context.Context, req secretRequest) (reconcile.Result, error) {
	options := []client.ListOption{client.MatchingFields{fleet.IndexName: req.KymaName}}
	reason, isCertificate := "access Secret changed", w.Settings.Watching.IsCertificate(req.Namespace, req.Cause.Name, req.KymaName)
	if isCertificate {
		reason = "certificate of the agent changed"
	} else if req.Namespace != w.Settings.AccessSecretNamespace {
		options = append(options, client.InNamespace(req.Namespace))
	}
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas, options...); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the Kymas of access Secret %s/%s: %w", req.Namespace, req.Cause.Name, err)
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !w.Settings.Ours(kyma.Labels) {
			continue
		}
		if !isCertificate {
			w.Clusters.Evict(kyma.Namespace, kyma.Name, req.Cause.ResourceVersion)
		}
		k := kick.Kick{
			Reason: reason, Kind: kindSecret, Namespace: req.Cause.Namespace, Name: req.Cause.Name,
			ResourceVersion: req.Cause.ResourceVersion, Urgent: !isCertificate,
		}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, kick.RefOf(kyma), k) }); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}
