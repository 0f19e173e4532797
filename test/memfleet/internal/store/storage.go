package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
)

// Storage keeps one resource of all clusters, in one version of it.
type Storage struct {
	resource      schema.GroupResource
	prefix        string
	codec         runtime.Codec
	newFunc       func() runtime.Object
	versioner     storage.Versioner
	decodedBodies *lru.Cache
}

var _ storage.Interface = (*Storage)(nil)

// Backend makes Storages, which share what they remember.
type Backend struct{ decodedBodies *lru.Cache }

// NewBackend returns a Backend that remembers so many decoded objects.
func NewBackend(decodedObjects int) *Backend { return &Backend{lru.New(decodedObjects)} }

// Decorate makes the Storage of one resource, as generic.StorageDecorator asks for it.
func (b *Backend) Decorate(config *storagebackend.ConfigForResource, prefix string, _ func(runtime.Object) (string, error),
	newFunc, _ func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	s := &Storage{
		resource: config.GroupResource, prefix: strings.TrimSuffix(prefix, "/") + "/", codec: config.Codec, newFunc: newFunc,
		versioner: storage.APIObjectVersioner{}, decodedBodies: b.decodedBodies,
	}
	return s, func() {}, nil
}

var _ generic.StorageDecorator = (*Backend)(nil).Decorate

var errNoCluster = errors.New("the request is for no cluster")

// at returns the cluster of a request, and the key without the resource.
func (s *Storage) at(ctx context.Context, key string) (*Cluster, string, error) {
	c := From(ctx)
	if c == nil {
		return nil, "", errNoCluster
	}
	if key+"/" == s.prefix {
		return c, "", nil
	}
	short, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return nil, "", fmt.Errorf("key %q is none of %s", key, s.resource)
	}
	return c, short, nil
}

// Versioner implements storage.Interface.
func (s *Storage) Versioner() storage.Versioner { return s.versioner }

// Create implements storage.Interface. Objects do not expire: the time to live is ignored.
func (s *Storage) Create(ctx context.Context, key string, obj, out runtime.Object, _ uint64) error {
	c, short, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	if version, err := s.versioner.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	if err := s.versioner.PrepareObjectForStorage(obj); err != nil {
		return fmt.Errorf("prepare %s for storage: %w", key, err)
	}
	r, err := s.split(short, obj)
	if err != nil {
		return err
	}
	if _, ok := c.put(s.resource, short, nil, r); !ok {
		return storage.NewKeyExistsError(key, 0)
	}
	s.trace(ctx, nil, r)
	if out == nil {
		return nil
	}
	return s.restoreInto(r, r.revision, out)
}

// Get implements storage.Interface.
func (s *Storage) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	c, short, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	records, revision := c.view(ctx, s.resource, short)
	if err := s.notNewer(opts.ResourceVersion, revision); err != nil {
		return err
	}
	// The first with the prefix is the one, if it is there.
	if len(records) > 0 && records[0].Key() == short {
		return s.restoreInto(records[0], records[0].revision, out)
	}
	if opts.IgnoreNotFound {
		return runtime.SetZeroValue(out)
	}
	return storage.NewKeyNotFoundError(key, 0)
}

// notNewer refuses reads that ask for a state that is yet to come.
func (s *Storage) notNewer(wanted string, present uint64) error {
	if wanted == "" {
		return nil
	}
	version, err := s.versioner.ParseResourceVersion(wanted)
	if err != nil {
		return fmt.Errorf("parse the resource version: %w", err)
	}
	if version > present {
		return storage.NewTooLargeResourceVersionError(version, present, 0)
	}
	return nil
}

// own returns a copy of a record's object that the caller may change.
func (s *Storage) own(r *Record) (runtime.Object, error) {
	object, err := s.restore(r, r.revision)
	if err != nil {
		return nil, err
	}
	return object.DeepCopyObject(), nil
}

// Delete implements storage.Interface.
func (s *Storage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions,
) error {
	c, short, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	for {
		r := c.Get(s.resource, short)
		if r == nil {
			return storage.NewKeyNotFoundError(key, 0)
		}
		object, err := s.own(r)
		if err != nil {
			return err
		}
		if err := preconditions.Check(key, object); err != nil {
			return err
		}
		if err := validate(ctx, object); err != nil {
			return err
		}
		if revision, ok := c.put(s.resource, short, r, nil); ok {
			return s.restoreInto(r, revision, out)
		}
	}
}

// GuaranteedUpdate implements storage.Interface. A write that changes nothing is none.
func (s *Storage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object,
) error {
	c, short, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	for {
		before := c.Get(s.resource, short)
		var object runtime.Object
		var met storage.ResponseMeta
		switch {
		case before != nil:
			if object, err = s.own(before); err != nil {
				return err
			}
			met.ResourceVersion = before.revision
		case ignoreNotFound:
			object, _ = reflect.New(reflect.TypeOf(destination).Elem()).Interface().(runtime.Object)
		default:
			return storage.NewKeyNotFoundError(key, 0)
		}
		if err := preconditions.Check(key, object); err != nil {
			return err
		}
		updated, _, err := tryUpdate(object, met)
		if err != nil {
			return err
		}
		if err := s.versioner.PrepareObjectForStorage(updated); err != nil {
			return fmt.Errorf("prepare %s for storage: %w", key, err)
		}
		next, err := s.split(short, updated)
		if err != nil {
			return err
		}
		if before != nil && before.same(next) {
			s.trace(ctx, before, before)
			return s.restoreInto(before, before.revision, destination)
		}
		if _, ok := c.put(s.resource, short, before, next); ok {
			s.trace(ctx, before, next)
			return s.restoreInto(next, next.revision, destination)
		}
	}
}

// Stats implements storage.Interface.
func (s *Storage) Stats(ctx context.Context) (storage.Stats, error) {
	c, _, err := s.at(ctx, s.prefix)
	if err != nil {
		return storage.Stats{}, err
	}
	return storage.Stats{ObjectCount: int64(len(c.All(s.resource, "")))}, nil
}

// ReadinessCheck implements storage.Interface.
func (s *Storage) ReadinessCheck() error { return nil }

// RequestWatchProgress implements storage.Interface.
func (s *Storage) RequestWatchProgress(context.Context) error { return nil }

// GetCurrentResourceVersion implements storage.Interface.
func (s *Storage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	c, _, err := s.at(ctx, s.prefix)
	if err != nil {
		return 0, err
	}
	return c.Revision(), nil
}

// EnableResourceSizeEstimation implements storage.Interface.
func (s *Storage) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// CompactRevision implements storage.Interface.
func (s *Storage) CompactRevision() int64 { return 0 }
