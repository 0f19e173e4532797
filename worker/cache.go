package worker

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// CacheOptions returns options that keep an instance's caches small. The caches hold:
//
//   - of Secrets, only the metadata of those that give access to clusters
//   - of Manifests, almost nothing of the inventory
//   - no managed fields
//   - of our own kinds, only objects with this instance's label; the default instance caches all of them, because no
//     selector matches objects with this label or none
//
// If settings.Namespaces is set, the caches hold only objects in these namespaces. Access Secrets are then also cached
// from AccessSecretNamespace and, if events from remote clusters are switched on, from the Istio namespace. If
// settings.Namespaces is not set, the returned informers are nil.
func CacheOptions(settings desired.Settings) (cache.Options, *fleet.Informers, error) {
	isAccess, err := labels.NewRequirement(shared.LabelKymaName, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, nil, fmt.Errorf("select access Secrets: %w", err)
	}
	ours := labels.Everything()
	if settings = settings.WithDefaults(); settings.ManagedBy != shared.ManagedByLifecycleManager {
		ours = labels.SelectorFromSet(labels.Set{shared.LabelManagedBy: settings.ManagedBy})
	}
	secrets := cache.ByObject{Label: labels.NewSelector().Add(*isAccess)}
	if extra := settings.AccessSecretNamespace; len(settings.Namespaces) > 0 && extra != "" {
		secrets.Namespaces = map[string]cache.Config{extra: {}}
		for _, name := range settings.Namespaces {
			secrets.Namespaces[name] = cache.Config{}
		}
	}
	if certificates := settings.Watching.IstioNamespace; len(settings.Namespaces) > 0 && settings.Watching.Enabled() {
		if secrets.Namespaces == nil {
			secrets.Namespaces = map[string]cache.Config{}
			for _, name := range settings.Namespaces {
				secrets.Namespaces[name] = cache.Config{}
			}
		}
		secrets.Namespaces[certificates] = cache.Config{}
	}
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			fleet.SecretMetadata():       secrets,
			&v1beta2.Kyma{}:              {Label: ours},
			&v1beta2.ModuleTemplate{}:    {Label: ours},
			&v1beta2.ModuleReleaseMeta{}: {Label: ours},
			&v1beta2.ModuleRollout{}:     {Label: ours},
			&v1beta2.Manifest{}:          {Label: ours, Transform: fleet.Strip},
			&v1beta2.RemoteAgent{}:       {Label: ours, Transform: fleet.Strip},
		},
	}
	routing.AddToCache(settings, ours, &options)
	if len(settings.Namespaces) == 0 {
		return options, nil, nil
	}
	informers := &fleet.Informers{}
	informers.Limit(&options, slices.Compact(slices.Sorted(slices.Values(settings.Namespaces))))
	return options, informers, nil
}
