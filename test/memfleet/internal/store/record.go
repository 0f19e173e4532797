package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
	"unique"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Record is one object of one cluster, as it is kept: what the same objects of other clusters have as well is
// shared with them (key, body, and often labels and annotations), and only the rest is the cluster's own. A Record
// never changes; a write puts another one in its place.
type Record struct {
	// key is "namespace/name", or "name".
	key unique.Handle[string]
	// body is the encoded object without what is in the other fields.
	body        unique.Handle[string]
	labels      blob
	annotations blob
	uid         [16]byte
	revision    uint64
	created     int64
	// times are those of the entries of the managed fields, zero for none.
	times []int64
	// rare is nil for most objects.
	rare *rare
}

// rare is metadata that most objects do not have.
type rare struct {
	deleted int64
	grace   *int64
	owners  []metav1.OwnerReference
}

// blob is an encoded map of strings, shared by all that have the same; zero for none.
type blob = unique.Handle[string]

// Key is "namespace/name", or "name" of an object that is in no namespace.
func (r *Record) Key() string { return r.key.Value() }

// UID identifies the object.
func (r *Record) UID() types.UID { return types.UID(uuid.UUID(r.uid).String()) }

// Revision is the resourceVersion.
func (r *Record) Revision() uint64 { return r.revision }

// Deleting reports whether the object has a deletionTimestamp.
func (r *Record) Deleting() bool { return r.rare != nil && r.rare.deleted != 0 }

// Body is the object as it is stored, without uid, labels, annotations, owners and times. The same bodies have the
// same handle, in all clusters.
func (r *Record) Body() unique.Handle[string] { return r.body }

// Owners are the owner references. The caller must not change them.
func (r *Record) Owners() []metav1.OwnerReference {
	if r.rare == nil {
		return nil
	}
	return r.rare.owners
}

// same reports whether a write of next instead of r changes nothing.
func (r *Record) same(next *Record) bool {
	return r.body == next.body && r.labels == next.labels && r.annotations == next.annotations &&
		r.uid == next.uid && r.created == next.created && slices.Equal(r.times, next.times) && r.rare.same(next.rare)
}

func (r *rare) same(next *rare) bool {
	if r == nil || next == nil {
		return r == next
	}
	sameGrace := r.grace == next.grace || r.grace != nil && next.grace != nil && *r.grace == *next.grace
	return r.deleted == next.deleted && sameGrace && slices.EqualFunc(r.owners, next.owners, sameOwner)
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Kind == b.Kind && a.APIVersion == b.APIVersion &&
		sameFlag(a.Controller, b.Controller) && sameFlag(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

func sameFlag(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// newBlob encodes a map, by its sorted keys.
func newBlob(m map[string]string) blob {
	if len(m) == 0 {
		return blob{}
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out bytes.Buffer
	var size [binary.MaxVarintLen64]byte
	put := func(s string) {
		out.Write(size[:binary.PutUvarint(size[:], uint64(len(s)))])
		out.WriteString(s)
	}
	for _, k := range keys {
		put(k)
		put(m[k])
	}
	return unique.Make(out.String())
}

// decodeBlob returns a map of the caller's own. Its strings share the memory of the blob.
func decodeBlob(b blob) map[string]string {
	if b == (blob{}) {
		return nil
	}
	rest := b.Value()
	m := make(map[string]string, 4)
	next := func() string {
		n, width := uvarint(rest)
		s := rest[width : width+n]
		rest = rest[width+n:]
		return s
	}
	for rest != "" {
		k := next()
		m[k] = next()
	}
	return m
}

func uvarint(s string) (value, width int) {
	for shift := 0; ; shift += 7 {
		c := s[width]
		width++
		value |= int(c&0x7f) << shift
		if c < 0x80 {
			return value, width
		}
	}
}

func seconds(t metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func timeOf(s int64) metav1.Time {
	if s == 0 {
		return metav1.Time{}
	}
	return metav1.Time{Time: time.Unix(s, 0)}
}
