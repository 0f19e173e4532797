package desired

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Seen is the version of an object that somebody has seen: a cache that holds an older one is stale.
type Seen struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// Older tells whether a cached resource version is older than one that was seen. Versions that cannot be
// compared count as older, which only costs a read.
func Older(cached, seen string) bool {
	if seen == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached, seen)
	return err != nil || order < 0
}

// Fresh returns an Index that shows the objects named by seen at least as new as they were seen: where the
// cache is older, the object is read live. Kinds that an Index does not hold are ignored.
func Fresh(ctx context.Context, index Index, cache, live client.Reader, seen []Seen) (Index, error) {
	overlay := &overlay{base: index, templates: map[types.NamespacedName]*v1beta2.ModuleTemplate{},
		metas: map[types.NamespacedName]*v1beta2.ModuleReleaseMeta{}, rollouts: map[types.NamespacedName]*v1beta2.ModuleRollout{}}
	for _, one := range seen {
		var err error
		switch one.Kind {
		case shared.KindModuleTemplate:
			err = overlayStale(ctx, cache, live, one, overlay.templates)
		case shared.KindModuleReleaseMeta:
			err = overlayStale(ctx, cache, live, one, overlay.metas)
		case shared.KindModuleRollout:
			err = overlayStale(ctx, cache, live, one, overlay.rollouts)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(overlay.templates)+len(overlay.metas)+len(overlay.rollouts) == 0 {
		return index, nil
	}
	return overlay, nil
}

// overlayStale lays an object as it is now over those of a cache that has an older one.
func overlayStale[T interface {
	*E
	client.Object
}, E any](ctx context.Context, cache, live client.Reader, one Seen, over map[types.NamespacedName]T) error {
	key, now := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}, T(new(E))
	stale, err := readIfStale(ctx, cache, live, key, one.ResourceVersion, T(new(E)), now)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", one.Kind, key, err)
	}
	if stale {
		over[key] = existing(now)
	}
	return nil
}

// readIfStale reads an object live into target when the cache's copy is older than seen, or missing. An
// object that is gone leaves target empty.
func readIfStale(ctx context.Context, cache, live client.Reader, key types.NamespacedName, seen string,
	cached, target client.Object,
) (bool, error) {
	err := cache.Get(ctx, key, cached)
	if err == nil && !Older(cached.GetResourceVersion(), seen) {
		return false, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err := live.Get(ctx, key, target); err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return true, nil
}

// existing is nil for an object that was not found.
func existing[T interface {
	*E
	client.Object
}, E any](object T) T {
	if object.GetName() == "" {
		return nil
	}
	return object
}

// overlay shows some objects as they were read live instead of as the index below has them; nil stands for
// one that is gone.
type overlay struct {
	base      Index
	templates map[types.NamespacedName]*v1beta2.ModuleTemplate
	metas     map[types.NamespacedName]*v1beta2.ModuleReleaseMeta
	rollouts  map[types.NamespacedName]*v1beta2.ModuleRollout
}

func (o *overlay) Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	below, err := o.base.Templates(ctx, key)
	return laidOver(below, o.templates, key, KeysOfTemplate), err
}

func (o *overlay) ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	below, err := o.base.ReleaseMetas(ctx, key)
	return laidOver(below, o.metas, key, KeysOfReleaseMeta), err
}

func (o *overlay) Rollouts(ctx context.Context, module string) ([]*v1beta2.ModuleRollout, error) {
	below, err := o.base.Rollouts(ctx, module)
	return laidOver(below, o.rollouts, module, keysOfRollout), err
}

func laidOver[T interface {
	*E
	client.Object
}, E any](below []T, above map[types.NamespacedName]T, key string, keys func(T) []string) []T {
	var shown []T
	for _, object := range below {
		if _, replaced := above[client.ObjectKeyFromObject(object)]; !replaced {
			shown = append(shown, object)
		}
	}
	for _, object := range above {
		if object != nil && slices.Contains(keys(object), key) {
			shown = append(shown, object)
		}
	}
	return shown
}
