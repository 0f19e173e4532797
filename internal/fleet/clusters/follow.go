package clusters

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Follow drops cached access as soon as its Secret changes. Every process must call it, even one without watchers. The
// argument secrets is the object under which the cache holds the metadata of access Secrets.
func (r *Registry) Follow(ctx context.Context, informers cache.Informers, secrets client.Object) error {
	informer, err := informers.GetInformer(ctx, secrets)
	if err != nil {
		return fmt.Errorf("follow access Secrets: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			r.secretChanged(before, after)
			r.secretChanged(after, after)
		},
		DeleteFunc: func(last any) {
			if gone, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
				last = gone.Obj
			}
			r.secretChanged(last, last)
		},
	})
	if err != nil {
		return fmt.Errorf("follow access Secrets: %w", err)
	}
	return nil
}

// secretChanged drops the access of the Kymas that a Secret served, unless the access was read after the change.
func (r *Registry) secretChanged(was, is any) {
	before, known := was.(client.Object)
	after, ok := is.(client.Object)
	if !ok || !known || before.GetLabels()[shared.LabelKymaName] == "" {
		return
	}
	name := before.GetLabels()[shared.LabelKymaName]
	for _, namespace := range r.servedBy(before.GetNamespace(), name) {
		r.Evict(namespace, name, after.GetResourceVersion())
	}
}

// servedBy returns the namespaces of the Kymas with this name that may use an access Secret in the given namespace.
func (r *Registry) servedBy(namespace, kymaName string) []string {
	namespaces := []string{namespace}
	if namespace != r.options.AccessSecretNamespace {
		return namespaces
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.cache.Keys() {
		if key.Name == kymaName && key != (types.NamespacedName{Namespace: namespace, Name: kymaName}) {
			namespaces = append(namespaces, key.Namespace)
		}
	}
	return namespaces
}
