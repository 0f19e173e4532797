package inventory

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Constants of the 64-bit FNV-1a hash. The hash is computed inline, because a sweep hashes the fields of every object
// in the fleet.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// sumOfFields returns a checksum of the fields of a managed fields entry. It does not depend on their order.
//
// The order means nothing: an API server usually writes the items of a list map by the values of their keys (port 80
// before 443). After a write that took the object through maps, it writes them by their text ("443" before "80"). So
// writes of other fields change the order of the same fields. We have seen this with workloads that are scaled.
// Therefore each field is hashed with its path, and the hashes are added up.
func sumOfFields(e *metav1.ManagedFieldsEntry) uint64 {
	raw := e.FieldsV1.GetRawBytes()
	if bytes.ContainsAny(raw, "<>&\u2028\u2029") {
		// A protobuf response may have these characters unescaped; JSON escapes them.
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
			// A name. The entry consists only of names and objects with further names.
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
			// Each name ends with a quote, so that no name is a prefix of another.
			path = (path ^ '"') * fnvPrime
			total += mix(path)
		}
	}
	return total
}

// mix makes each bit of a hash depend on all of its bits, so that hashes can be added up (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
