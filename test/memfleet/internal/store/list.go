package store

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// GetList implements storage.Interface. The pages of one list are of the state at the time of each page, and not of the
// first one's, but carry its resourceVersion.
func (s *Storage) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) error {
	c, prefix, err := s.at(ctx, key)
	if err != nil {
		return err
	}
	items, err := itemsOf(listObj)
	if err != nil {
		return err
	}
	keyPrefix := key
	if opts.Recursive && keyPrefix[len(keyPrefix)-1] != '/' {
		keyPrefix += "/"
		if prefix != "" {
			prefix += "/"
		}
	}
	version, from, err := storage.ValidateListOptions(keyPrefix, s.versioner, opts)
	if err != nil {
		return err
	}
	records, revision := c.view(ctx, s.resource, prefix)
	if !opts.Recursive {
		// One object, as a list.
		if len(records) > 0 && records[0].Key() == prefix {
			records = records[:1]
		} else {
			records = nil
		}
	}
	if err := s.notNewer(opts.ResourceVersion, revision); err != nil {
		return err
	}
	if version == 0 {
		version = int64(revision) //nolint:gosec // a revision is far from the limit
	}
	all := records
	if from != "" {
		all = all[firstAt(all, s.prefix, from):]
	}
	page, last, rest, err := s.page(all, opts)
	if err != nil {
		return err
	}
	items.Set(page(items.Type()))
	next, remaining, err := storage.PrepareContinueToken(s.prefix+last, keyPrefix, version, int64(len(all)), rest, opts)
	if err != nil {
		return fmt.Errorf("make the continue token: %w", err)
	}
	return s.versioner.UpdateList(listObj, uint64(version), next, remaining) //nolint:gosec // it is not negative
}

// page restores the matching objects up to the limit. It returns what makes a slice of them, the key of the last one
// that was read, and whether there are more behind it.
func (s *Storage) page(records []*Record, opts storage.ListOptions) (func(reflect.Type) reflect.Value, string, bool, error) {
	var found []runtime.Object
	last := ""
	limit := opts.Predicate.Limit
	byLabel := opts.Predicate.Label != nil && !opts.Predicate.Label.Empty()
	for i, r := range records {
		if limit > 0 && int64(len(found)) >= limit {
			return into(found), last, i < len(records), nil
		}
		last = r.Key()
		if byLabel && !opts.Predicate.Label.Matches(labels.Set(decodeBlob(r.labels))) {
			continue
		}
		object, err := s.restore(r, r.revision)
		if err != nil {
			return nil, "", false, err
		}
		if ok, err := opts.Predicate.Matches(object); err == nil && ok {
			found = append(found, object)
		}
	}
	return into(found), last, false, nil
}

func into(found []runtime.Object) func(reflect.Type) reflect.Value {
	return func(t reflect.Type) reflect.Value {
		items := reflect.MakeSlice(t, len(found), len(found))
		for i, object := range found {
			items.Index(i).Set(reflect.ValueOf(object).Elem())
		}
		return items
	}
}

// firstAt is where a page begins.
func firstAt(records []*Record, prefix, from string) int {
	_, at := find(records, from[min(len(prefix), len(from)):])
	return at
}

func itemsOf(list runtime.Object) (reflect.Value, error) {
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("the items of a %T: %w", list, err)
	}
	v := reflect.ValueOf(pointer).Elem()
	if v.Kind() != reflect.Slice {
		return reflect.Value{}, fmt.Errorf("the items of a %T are no slice", list)
	}
	return v, nil
}
