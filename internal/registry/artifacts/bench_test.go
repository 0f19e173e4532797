package artifacts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// benchObjects is the number of objects in each layer.
const benchObjects = 200

// benchDocuments returns ConfigMaps of some 600 bytes each.
func benchDocuments() string {
	var all strings.Builder
	for i := range benchObjects {
		fmt.Fprintf(&all, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: default}\ndata: {key: %q}\n---\n", i, strings.Repeat("x", 500))
	}
	return all.String()
}

// BenchmarkRender measures how long it takes to get the objects of a layer with 200 objects. Cold: the store knows
// nothing and fetches the layer from a registry in this process; the figures include the registry's work. Cached: the
// layer is in memory and the store parses or renders it again, as for other values or another kind of cluster. Clusters
// that install the same module share one rendering and skip even that. Charts are rendered in a separate process.
func BenchmarkRender(b *testing.B) {
	documents := benchDocuments()
	layers := []struct {
		name  string
		layer []byte
	}{
		{"yaml", []byte(documents)},
		{"folder", zipped(archive(entry{name: "all.yaml", content: documents}))},
		{"chart", chartOf(
			entry{name: "values.yaml", content: fmt.Sprintf("number: %d\ntext: %s\n", benchObjects, strings.Repeat("x", 500))},
			entry{name: "templates/all.yaml", content: "{{ range $i := until (int .Values.number) }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c{{ $i }}, namespace: {{ $.Release.Namespace }}}\ndata: {key: {{ $.Values.text }}}\n{{ end }}"},
		)},
	}
	for _, l := range layers {
		r := newTestRegistry(b)
		source := Source{Install: r.push(b, l.layer), Release: render.Release{Name: "sample", Namespace: "default"}}
		b.Run("layer="+l.name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				renderAll(b, r.store(b, nil), source)
			}
		})
		b.Run("layer="+l.name+"/cached", func(b *testing.B) {
			s := r.store(b, nil)
			renderAll(b, s, source)
			b.ReportAllocs()
			for b.Loop() {
				renderAll(b, s, source)
			}
			if pulls := s.Counts().Pulls; pulls != 1 {
				b.Fatalf("the layer was pulled %d times", pulls)
			}
		})
	}
}

func renderAll(b *testing.B, s *Store, source Source) {
	b.Helper()
	request, err := s.Prepare(context.Background(), source, &fakeCluster{version: "v1.36.1"})
	if err != nil {
		b.Fatal(err)
	}
	rendered, err := request.Render(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if len(rendered.Objects) != benchObjects {
		b.Fatalf("%d objects were rendered", len(rendered.Objects))
	}
}
