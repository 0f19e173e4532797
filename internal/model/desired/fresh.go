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

// Seen is a version of an object that is known to exist. A cache with an older version is stale.
type Seen struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// Older reports whether a cached resource version is older than a seen one. Versions that cannot be compared count as
// older, which only costs a read.
func Older(cached, seen string) bool {
	if seen == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached, seen)
	return err != nil || order < 0
}

// Fresh returns an Index that has the seen objects at least in the seen version. If the cache is older, Fresh reads the
// object live. It ignores kinds that an Index does not hold.
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

// overlayStale reads an object live if the cache has an older version, and adds it to the overlay.
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

// readIfStale reads an object live into target if the cached copy is missing or older than seen, and reports whether it
// did. If the object is gone, target stays empty.
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

// existing returns nil for an object that was not found.
func existing[T interface {
	*E
	client.Object
}, E any](object T) T {
	if object.GetName() == "" {
		return nil
	}
	return object
}

// overlay is an index in which some objects are replaced by the versions that were read live. Nil stands for an object
// that is gone.
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
