package artifacts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// benchObjects is how many objects each of the layers comes to.
const benchObjects = 200

// benchDocuments are ConfigMaps of some 600 bytes each.
func benchDocuments() string {
	var all strings.Builder
	for i := range benchObjects {
		fmt.Fprintf(&all, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: default}\ndata: {key: %q}\n---\n", i, strings.Repeat("x", 500))
	}
	return all.String()
}

// BenchmarkRender is what it takes to get at the objects of a layer of 200. cold: nothing is known of it, and it is
// fetched from a registry in this process, whose work is in the figures. cached: the layer is in memory, and its
// objects are read from it anew, as for another set of values or another kind of cluster; clusters that install the
// same share what comes of that and do not render at all. Charts are rendered in a process of their own.
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
