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

// CacheOptions keep the caches of an instance small: of Secrets only the metadata of those that give access to
// clusters, of Manifests hardly anything of the inventory, of nothing the managed fields, and of our own kinds only
// what is labelled as this instance's. The default instance also takes what has no label, which no selector can say.
// With namespaces they have only what is in these, and access Secrets also of the namespace that is searched besides; the
// informers are nil without.
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
