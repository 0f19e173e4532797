package bundle

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// BenchmarkEncode measures how a layer of 200 rendered objects is encoded. cold: the bodies are encoded once for all
// clusters that install the layer. cached: the cached bodies are filled for one Manifest.
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
			// Encoding changes the objects, so each run uses its own copies. Copying is not measured.
			b.StopTimer()
			copies := make([]*unstructured.Unstructured, objects)
			for i, u := range rendered {
				copies[i] = u.DeepCopy()
			}
			b.StartTimer()
			if built, _, err := Build(&render.Rendered{Objects: copies}, Adaptation{}); err != nil || len(built.Objects) != objects {
				b.Fatal("not all were encoded", err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		built, _, err := Build(&render.Rendered{Objects: rendered}, Adaptation{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, o := range built.Objects {
				if len(o.Body.Fill(inventory.Owner{Name: "kyma-bench", Mark: "kcp-system/kyma-bench"})) == 0 {
					b.Fatal("nothing was encoded")
				}
			}
		}
	})
}
