package install

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// BenchmarkFingerprint is what the sweep computes for a module of 200 objects that were read.
func BenchmarkFingerprint(b *testing.B) {
	live := manyApplied(200)
	kind := schema.GroupKind{Kind: "Service"}
	b.ReportAllocs()
	for b.Loop() {
		marks := make([]fingermark, 0, len(live))
		for _, o := range live {
			id, err := v1beta2.InventoryID(kind, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
			if err != nil {
				b.Fatal(err)
			}
			marks = append(marks, fingermark{id: id, uid: string(o.UID), hash: objectHash(o)})
		}
		if fingerprintOf(marks) == "" {
			b.Fatal("no fingerprint")
		}
	}
}

// BenchmarkEncode is what a layer of 200 rendered objects takes on its way to a cluster. cold: the bodies are encoded,
// once for all clusters that install the layer. cached: they are there, and filled for one Manifest.
func BenchmarkEncode(b *testing.B) {
	const objects = 200
	rendered := make([]*unstructured.Unstructured, objects)
	for i := range rendered {
		rendered[i] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": fmt.Sprintf("c%d", i), "namespace": "default"},
			"data":     map[string]any{"key": strings.Repeat("x", 500)},
		}}
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			// Encoding changes what it is given, so each time has copies of its own, which are not in the figures.
			b.StopTimer()
			copies := make([]*unstructured.Unstructured, objects)
			for i, u := range rendered {
				copies[i] = u.DeepCopy()
			}
			b.StartTimer()
			if made, _, err := build(&artifacts.Rendered{Objects: copies}, adaptation{}); err != nil || len(made.objects) != objects {
				b.Fatal("not all were encoded", err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		made, _, err := build(&artifacts.Rendered{Objects: rendered}, adaptation{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, o := range made.objects {
				if len(o.body.fill(owner{name: "kyma-bench", mark: "kcp-system/kyma-bench"})) == 0 {
					b.Fatal("nothing was encoded")
				}
			}
		}
	})
}
