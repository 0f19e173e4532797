package inventory

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// BenchmarkFingerprint measures the computation of the sweep for a module of 200 objects that were read.
func BenchmarkFingerprint(b *testing.B) {
	live := manyApplied(200)
	kind := schema.GroupKind{Kind: "Service"}
	b.ReportAllocs()
	for b.Loop() {
		entries := make([]FingerprintEntry, 0, len(live))
		for _, o := range live {
			id, err := v1beta2.InventoryID(kind, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
			if err != nil {
				b.Fatal(err)
			}
			entries = append(entries, FingerprintEntry{ID: id, UID: string(o.UID), Hash: ObjectHash(o)})
		}
		if FingerprintOf(entries) == "" {
			b.Fatal("no fingerprint")
		}
	}
}
