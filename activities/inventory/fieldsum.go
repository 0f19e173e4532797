package inventory

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Constants of the 64 bit FNV-1a hash, which is computed by hand here: a sweep sums up the fields of every object
// in the fleet.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// sumOfFields is a number that says which fields an entry of the managed fields has, whatever their order.
//
// The order does not say anything: an API server writes the items of a list map by the values of their keys (port
// 80 before 443) or, after a write that took the object through maps, by their text ("443" before "80"), so that
// the same fields come in different orders from one write of another field to the next. This was seen with
// workloads that are scaled. So each field is hashed with the path to it, and the hashes are added up.
func sumOfFields(e *metav1.ManagedFieldsEntry) uint64 {
	raw := e.FieldsV1.GetRawBytes()
	if bytes.ContainsAny(raw, "<>&\u2028\u2029") {
		// In an answer in protobuf these may come as they are, in JSON they are escaped.
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, raw)
		raw = escaped.Bytes()
	}
	total := uint64(0)
	paths := make([]uint64, 0, 16)
	path := uint64(fnvOffset)
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			paths = append(paths, path)
		case '}':
			if len(paths) > 0 {
				paths = paths[:len(paths)-1]
			}
		case '"':
			// A name; nothing but names and objects of further names is in there.
			path = fnvOffset
			if len(paths) > 0 {
				path = paths[len(paths)-1]
			}
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				path = (path ^ uint64(raw[i])) * fnvPrime
				if raw[i] == '\\' && i+1 < len(raw) {
					i++
					path = (path ^ uint64(raw[i])) * fnvPrime
				}
			}
			// A quote ends each name, so that no name is the beginning of another.
			path = (path ^ '"') * fnvPrime
			total += mix(path)
		}
	}
	return total
}

// mix makes the bits of a hash depend on all of its bits, as sums need it (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
