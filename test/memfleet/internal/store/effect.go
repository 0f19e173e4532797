package store

import (
	"bytes"
	"context"
	"slices"
	"time"
	"unique"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Trace is what a request came to: which record it put in the place of which. Without a write both are the same.
type Trace struct {
	Before, After *Record
	storage       *Storage
	// writes is how many objects were written.
	writes int
}

type traceKey struct{}

// WithTrace returns a context whose request is traced.
func WithTrace(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

func (s *Storage) trace(ctx context.Context, before, after *Record) {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		t.Before, t.After, t.storage = before, after, s
		t.writes++
	}
}

// Values are the labels or annotations that a request names.
type Values map[string]string

// Effect is the change of an object by a request, so that the same request to the same object of another cluster need not be
// worked out again: that costs a hundred times as much.
type Effect struct {
	body unique.Handle[string]
	// times are where those of the managed fields come from: an entry of before, or now.
	times               []int
	labels, annotations []value
}

// fromNow is for a time that is that of the write.
const fromNow = -1

// value is a label or an annotation, and where its value comes from.
type value struct {
	key  string
	from origin
	text string
}

type origin int

const (
	fromText origin = iota
	fromRequest
	fromBefore
)

// Effect returns how the traced request changed its object, or nil where that cannot be repeated. The values are those
// that the request named and that differ from cluster to cluster.
func (t *Trace) Effect(labels, annotations Values) *Effect {
	if t.writes != 1 || t.After.rare != nil || t.Before != nil && t.Before.rare != nil {
		return nil
	}
	r := &Effect{body: t.After.body}
	var before blobs
	if t.Before != nil {
		before = blobs{decodeBlob(t.Before.labels), decodeBlob(t.Before.annotations)}
	}
	r.labels = origins(decodeBlob(t.After.labels), labels, before.labels)
	r.annotations = origins(decodeBlob(t.After.annotations), annotations, before.annotations)
	was, err1 := t.storage.managed(t.Before)
	is, err2 := t.storage.managed(t.After)
	if err1 != nil || err2 != nil {
		return nil
	}
	for _, entry := range is {
		r.times = append(r.times, slices.IndexFunc(was, func(other metav1.ManagedFieldsEntry) bool { return sameEntry(entry, other) }))
	}
	return r
}

type blobs struct{ labels, annotations map[string]string }

func origins(after, request, before map[string]string) []value {
	all := make([]value, 0, len(after))
	for k, v := range after {
		one := value{key: k, text: v}
		if given, ok := request[k]; ok && given == v {
			one = value{key: k, from: fromRequest}
		} else if old, ok := before[k]; ok && old == v {
			one = value{key: k, from: fromBefore}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b value) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	return all
}

// managed are the managed fields of a record.
func (s *Storage) managed(r *Record) ([]metav1.ManagedFieldsEntry, error) {
	if r == nil {
		return nil, nil
	}
	object, err := s.restore(r, r.revision)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	return accessor.GetManagedFields(), nil
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource && a.APIVersion == b.APIVersion &&
		bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
}

// Same reports whether two effects do the same.
func (r *Effect) Same(other *Effect) bool {
	return other != nil && r.body == other.body && slices.Equal(r.times, other.times) && slices.Equal(r.labels, other.labels) &&
		slices.Equal(r.annotations, other.annotations)
}

// Repeat does in a cluster what the effect says, with the values that its request names. It returns false when the
// object is not the one that was read any more.
func (c *Cluster) Repeat(r *Effect, resource schema.GroupResource, key string, before *Record, labels, annotations Values, now time.Time) bool {
	next := &Record{key: unique.Make(key), body: r.body, created: now.Unix()}
	var was blobs
	var times []int64
	if before == nil {
		next.uid = uuid.New()
	} else {
		was = blobs{decodeBlob(before.labels), decodeBlob(before.annotations)}
		next.uid, next.created, next.rare, times = before.uid, before.created, before.rare, before.times
	}
	next.labels = newBlob(fillIn(r.labels, labels, was.labels))
	next.annotations = newBlob(fillIn(r.annotations, annotations, was.annotations))
	for _, from := range r.times {
		if from == fromNow || from >= len(times) {
			next.times = append(next.times, now.Unix())
		} else {
			next.times = append(next.times, times[from])
		}
	}
	if before != nil && before.same(next) {
		return true
	}
	_, ok := c.put(resource, key, before, next)
	return ok
}

func fillIn(all []value, request, before map[string]string) map[string]string {
	filled := make(map[string]string, len(all))
	for _, one := range all {
		switch one.from {
		case fromRequest:
			filled[one.key] = request[one.key]
		case fromBefore:
			filled[one.key] = before[one.key]
		case fromText:
			filled[one.key] = one.text
		}
	}
	return filled
}

// Labels returns the labels, in a map of the caller's own.
func (r *Record) Labels() map[string]string { return decodeBlob(r.labels) }

// Annotations returns the annotations, in a map of the caller's own.
func (r *Record) Annotations() map[string]string { return decodeBlob(r.annotations) }

// Plain reports whether the object has no owners and is not being deleted.
func (r *Record) Plain() bool { return r.rare == nil }
