package artifacts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

type entry struct {
	name, content string
	kind          byte
	link          string
}

func archive(entries ...entry) []byte {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o644}
		if e.kind == tar.TypeReg {
			header.Size = int64(len(e.content))
		}
		if err := writer.WriteHeader(header); err != nil {
			panic(err)
		}
		if _, err := writer.Write([]byte(e.content)); err != nil && e.kind == tar.TypeReg {
			panic(err)
		}
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func zipped(content []byte) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, _ = writer.Write(content)
	_ = writer.Close()
	return buffer.Bytes()
}

// fakeCluster answers the questions of charts, and records them.
type fakeCluster struct {
	version string
	apis    []string
	silent  []string
	asked   []string
}

func (c *fakeCluster) Version(context.Context) (*version.Info, error) {
	c.asked = append(c.asked, "version")
	return &version.Info{GitVersion: c.version}, nil
}

func (c *fakeCluster) Serves(_ context.Context, api string) (bool, error) {
	c.asked = append(c.asked, api)
	for _, known := range c.apis {
		if known == api {
			return true, nil
		}
	}
	return false, nil
}

func (c *fakeCluster) APIVersions(context.Context) (served, silent []string, err error) {
	c.asked = append(c.asked, "all")
	return c.apis, c.silent, nil
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %}\n"

func configMapNamed(name string) string { return strings.ReplaceAll(configMap, "%", name) }

// renderLayer renders a layer like a module of the given form.
func renderLayer(t *testing.T, layer []byte, form Form, change func(*Options)) (*render.Rendered, error) {
	t.Helper()
	r := newTestRegistry(t)
	s := r.store(t, change)
	request, err := s.Prepare(context.Background(), Source{Install: r.push(t, layer), Form: form, Release: render.Release{Name: "sample", Namespace: "kyma-system"}}, &fakeCluster{version: "v1.36.1"})
	if err != nil {
		return nil, err
	}
	return request.Render(context.Background())
}

func names(r *render.Rendered) []string {
	var all []string
	for _, object := range r.Objects {
		all = append(all, object.GetName())
	}
	return all
}

func TestRawManifestsAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	two := configMapNamed("a") + "---\n# only a comment\n---\n" + configMapNamed("b")
	folder := archive(entry{name: "./", kind: tar.TypeDir}, entry{name: "./2.yml", content: configMapNamed("b")}, entry{name: "./1.yaml", content: configMapNamed("a")},
		entry{name: "./README.md", content: "no manifest"}, entry{name: "./.hidden.yaml", content: "}"})
	tests := []struct {
		name  string
		layer []byte
		form  Form
	}{
		{"YAML documents", []byte(two), FormAny},
		{"YAML with a byte order mark", append([]byte("\ufeff"), two...), FormAny},
		{"YAML compressed", zipped([]byte(two)), FormAny},
		{"a list", []byte("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"), FormAny},
		{"JSON", []byte(`{"apiVersion":"v1","kind":"ConfigMapList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}]}`), FormAny},
		{"documents glued to their separators, and comments", []byte("---" + configMapNamed("a") + "--- # a comment\n" + configMapNamed("b") + "---\r\n"), FormAny},
		{"documents that begin on the separator line", []byte("--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---   " + configMapNamed("b") + "---"), FormAny},
		{"repeated keys, the last of which wins", []byte("kind: Secret\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\nmetadata: {name: y, name: a}\n---\n" + configMapNamed("b")), FormAny},
		{"an archive of a folder", folder, FormDirectory},
		{"an undeclared archive of a folder", folder, FormAny},
		{"a compressed archive", zipped(folder), FormDirectory},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rendered, err := renderLayer(t, test.layer, test.form, nil)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, names(rendered))
		})
	}
}

func TestYAMLIsReadAsKubectlReadsIt(t *testing.T) {
	t.Parallel()
	rendered, err := renderLayer(t, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {bare: y, number: 1}\n"), FormAny, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"bare": true, "number": int64(1)}, rendered.Objects[0].Object["data"])
}

func TestNullsInMetadataAreReadLikeKubectlReadsThem(t *testing.T) {
	t.Parallel()
	rendered, err := renderLayer(t, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: null, labels: null, annotations: null}\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {x: null, k: z}, annotations: {x: null}}\n"), FormAny, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": "a"}, rendered.Objects[0].Object["metadata"])
	require.Equal(t, map[string]string{"x": "", "k": "z"}, rendered.Objects[1].GetLabels())
	require.Equal(t, map[string]string{"x": ""}, rendered.Objects[1].GetAnnotations())
}

func TestHostileLayersAreRefused(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		p := string(i - 1)
		bomb += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+p+",", 8) + "*" + p + "]\n"
	}
	object := configMapNamed("a")
	tests := []struct {
		name     string
		layer    []byte
		form     Form
		reason   string
		contains string
	}{
		{"an HTML page", []byte("<html><body>sign in</body></html>"), FormAny, render.ReasonInvalidManifest, "document 1"},
		{"nothing", []byte("---\n---\n"), FormAny, render.ReasonInvalidManifest, "no object"},
		{"text that is not UTF-8", []byte("a: \xff\xfe"), FormAny, render.ReasonInvalidManifest, "UTF-8"},
		{"YAML that does not parse", []byte("a: [b"), FormAny, render.ReasonInvalidManifest, "document 1"},
		{"aliases that explode", []byte(bomb), FormAny, render.ReasonLayerTooLarge, "aliases expand"},
		{"an alias of itself", []byte("a: &a [*a]\n"), FormAny, render.ReasonLayerTooLarge, "aliases expand"},
		{"not a number", []byte(object + "data: {x: .nan}\n"), FormAny, render.ReasonInvalidManifest, "document 1"},
		{"endless brackets", []byte(strings.Repeat("[", 15_000)), FormAny, render.ReasonInvalidManifest, "document 1"},
		{"a list in a list", []byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]\n"), FormAny, render.ReasonInvalidManifest, "itself a list"},
		{"a list of something else", []byte("apiVersion: v1\nkind: List\nitems: [1]\n"), FormAny, render.ReasonInvalidManifest, "item 0"},
		{"a list with an object that etcd would refuse", []byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: " + strings.Repeat("x", 2000) + "}}]\n"), FormAny, render.ReasonLayerTooLarge, "ConfigMap a has"},
		{"JSON that is an array", []byte(`[{"apiVersion": "v1"}]`), FormAny, render.ReasonInvalidManifest, "not an object"},
		{"a list instead of an object", []byte("- a\n- b\n"), FormAny, render.ReasonInvalidManifest, "not an object"},
		{"an object without a kind", []byte("apiVersion: v1\nmetadata: {name: a}\n"), FormAny, render.ReasonInvalidManifest, "apiVersion or kind"},
		{"an object without a name", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"), FormAny, render.ReasonInvalidManifest, "metadata.name"},
		{"an object with a wrong apiVersion", []byte("apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: a}\n"), FormAny, render.ReasonInvalidManifest, "apiVersion"},
		{"labels that are not strings", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: 1}}\n"), FormAny, render.ReasonInvalidManifest, "labels"},
		{"metadata that is not an object", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: a\n"), FormAny, render.ReasonInvalidManifest, "metadata.name"},
		{"two objects of the same name", []byte(object + "---\n" + object), FormAny, render.ReasonInvalidManifest, "document 2"},
		{"too many documents", []byte(strings.Repeat(object+"---\n", 101)), FormAny, render.ReasonInvalidManifest, ""},
		{"100 thousand empty documents", []byte(strings.Repeat("---\n{}\n", 100_000)), FormAny, render.ReasonLayerTooLarge, "documents"},
		{"an object that etcd would refuse", []byte(object + "data: {x: " + strings.Repeat("x", 2000) + "}\n"), FormAny, render.ReasonLayerTooLarge, "1000 bytes"},
		{"a truncated archive", archive(entry{name: "a.yaml", content: object})[:530], FormAny, render.ReasonInvalidManifest, "a.yaml"},
		{"truncated gzip", zipped([]byte(object))[:30], FormAny, render.ReasonInvalidManifest, "decompressed"},
		{"a decompression bomb", zipped(bytes.Repeat([]byte("x"), 30_000)), FormAny, render.ReasonLayerTooLarge, "unpacks"},
		{"too many entries", archive(entries(11)...), FormDirectory, render.ReasonLayerTooLarge, "entries"},
		{"a path out of the archive", archive(entry{name: "../../etc/passwd", content: "x"}), FormAny, render.ReasonInvalidManifest, "leaves the archive"},
		{"a path out of the archive in the middle", archive(entry{name: "a/../../b.yaml", content: "x"}), FormAny, render.ReasonInvalidManifest, "leaves the archive"},
		{"a path out of the archive for Windows", archive(entry{name: `..\b.yaml`, content: "x"}), FormAny, render.ReasonInvalidManifest, "leaves the archive"},
		{"an absolute path", archive(entry{name: "/etc/passwd", content: "x"}), FormAny, render.ReasonInvalidManifest, "absolute"},
		{"a symbolic link", archive(entry{name: "a.yaml", kind: tar.TypeSymlink, link: "/etc/passwd"}), FormAny, render.ReasonInvalidManifest, "link"},
		{"a hard link", archive(entry{name: "a.yaml", kind: tar.TypeLink, link: "/etc/passwd"}), FormAny, render.ReasonInvalidManifest, "link"},
		{"a device", archive(entry{name: "null", kind: tar.TypeChar}), FormAny, render.ReasonInvalidManifest, "regular"},
		{"the same file twice", archive(entry{name: "a.yaml", content: object}, entry{name: "./a.yaml", content: object}), FormAny, render.ReasonInvalidManifest, "twice"},
		{"a file with holes that is larger than all", sparse(1 << 40), FormAny, render.ReasonLayerTooLarge, "unpacks"},
		{"a kustomize folder", archive(entry{name: "kustomization.yaml", content: "resources: []"}), FormAny, render.ReasonUnsupported, "kustomize build"},
		{"YAML instead of a folder", []byte(object), FormDirectory, render.ReasonInvalidManifest, "folder"},
		{"YAML instead of a chart", []byte(object), FormChart, render.ReasonInvalidChart, "chart"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := renderLayer(t, test.layer, test.form, func(o *Options) {
				o.Limits.Limits = render.Limits{UnpackedBytes: 20_000, Objects: 200, ObjectBytes: 1000, Entries: 10}
				if strings.Contains(test.name, "documents") {
					o.Limits.UnpackedBytes = 0
				}
			})
			require.Error(t, err)
			f := fault.Of(err)
			require.Equal(t, fault.Rejected, f.Kind, err.Error())
			require.Equal(t, test.reason, f.Reason, err.Error())
			require.Contains(t, f.Message, test.contains)
			require.Contains(t, f.Message, "layer 127.0.0.1", "the message names the layer")
			require.Less(t, len(f.Message), 1000)
		})
	}
}

func entries(number int) []entry {
	var all []entry
	for i := range number {
		all = append(all, entry{name: strings.Repeat("a", i+1) + ".md"})
	}
	return all
}

const chartYAML = "apiVersion: v2\nname: sample\nversion: 1.0.0\n"

func chartOf(files ...entry) []byte {
	all := []entry{{name: "sample/Chart.yaml", content: chartYAML}}
	for _, f := range files {
		f.name = "sample/" + f.name
		all = append(all, f)
	}
	return zipped(archive(all...))
}

func TestChartsAreRenderedWithCRDsFirstAndWithoutHooks(t *testing.T) {
	t.Parallel()
	chart := chartOf(
		entry{name: "values.yaml", content: "greeting: hello\n"},
		entry{name: "crds/crd.yaml", content: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: samples.example.com}\n"},
		entry{name: "templates/_part.tpl", content: `{{ define "name" }}{{ .Release.Name }}-{{ .Release.Namespace }}{{ end }}`},
		entry{name: "templates/a.yaml", content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"name\" . }}}\ndata: {greeting: {{ .Values.greeting }}}\n"},
		entry{name: "templates/hook.yaml", content: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: check, annotations: {helm.sh/hook: post-install}}\n"},
		entry{name: "templates/tests/test.yaml", content: "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n"},
		entry{name: "templates/NOTES.txt", content: "Thank you"},
	)
	for _, form := range []Form{FormChart, FormAny, FormDirectory} {
		rendered, err := renderLayer(t, chart, form, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"samples.example.com", "sample-kyma-system"}, names(rendered))
		require.Equal(t, []string{"Pod test"}, rendered.LeftOut)
		require.Equal(t, map[string]any{"greeting": "hello"}, rendered.Objects[1].Object["data"])
	}
}

// The output of templates that trim white space is split like Helm splits it.
func TestTemplatesGluedToTheirSeparatorsAreReadAsHelmReadsThem(t *testing.T) {
	t.Parallel()
	chart := chartOf(
		entry{name: "templates/_part.tpl", content: "{{- define \"cm\" -}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ . }}\ndata: {a: b}\n{{- end -}}\n"},
		entry{name: "templates/first.yaml", content: "---\n{{- include \"cm\" \"a\" }}\n"},
		entry{name: "templates/two.yaml", content: "{{ include \"cm\" \"b\" }}\n---\n{{- include \"cm\" \"c\" }}\n"},
	)
	rendered, err := renderLayer(t, chart, FormChart, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, names(rendered))
}

func TestAChartTakesItsValuesFromTheConfigLayer(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	s := r.store(t, nil)
	install := r.push(t, chartOf(entry{name: "templates/a.yaml", content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.image.tag }}}\n"}))
	prepare := func(values string) *RenderRequest {
		config := r.push(t, []byte(values))
		request, err := s.Prepare(context.Background(), Source{Install: install, Config: &config}, &fakeCluster{})
		require.NoError(t, err)
		return request
	}
	one, two := prepare("image: {tag: one}"), prepare("image: {tag: two}")
	require.NotEqual(t, one.Key, two.Key)
	rendered, err := two.Render(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, names(rendered))
	_, err = prepare("- not a map").Render(context.Background())
	require.Equal(t, render.ReasonInvalidChart, fault.Of(err).Reason)
}

func TestTheClusterIsAskedOnlyWhatTheChartAsks(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	s := r.store(t, nil)
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	tests := []struct {
		name     string
		template string
		asked    []string
	}{
		{"nothing", plain, nil},
		{"the version", plain + "data: {v: {{ .Capabilities.KubeVersion.Version }}}\n", []string{"version"}},
		{"one API", `{{ if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}{{ fail "no" }}{{ end }}` + "\n" + plain, []string{"version", "monitoring.coreos.com/v1"}},
		{"an API that is not written out", `{{ $api := "a/v1" }}{{ if .Capabilities.APIVersions.Has $api }}{{ fail "no" }}{{ end }}` + "\n" + plain, []string{"version", "all"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			install := r.push(t, chartOf(entry{name: "templates/a.yaml", content: test.template}))
			old, recent := &fakeCluster{version: "v1.35.0", apis: []string{"v1"}}, &fakeCluster{version: "v1.36.1", apis: []string{"v1", "batch/v1"}}
			first, err := s.Prepare(context.Background(), Source{Install: install}, old)
			require.NoError(t, err)
			require.Equal(t, test.asked, old.asked)
			second, err := s.Prepare(context.Background(), Source{Install: install}, recent)
			require.NoError(t, err)
			require.Equal(t, len(test.asked) == 0, first.Key == second.Key, "clusters with different answers do not share a rendering")
			_, err = first.Render(context.Background())
			require.NoError(t, err)
		})
	}
}

func TestAChartKnowsTheAPIsOfItsOwnDefinitions(t *testing.T) {
	t.Parallel()
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.own.example.com}
spec:
  group: own.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}, {name: v0, served: false, storage: false}]
`
	ask := func(api string) string { return `{{ if .Capabilities.APIVersions.Has "` + api + `" }}` }
	template := ask("own.example.com/v1") + configMapNamed("version") + "---\n{{ end }}" +
		ask("own.example.com/v1/Widget") + configMapNamed("kind") + "---\n{{ end }}" +
		ask("own.example.com/v0") + configMapNamed("not-served") + "---\n{{ end }}" +
		ask("other.example.com/v1") + configMapNamed("other") + "{{ end }}"
	r := newTestRegistry(t)
	layer := r.push(t, chartOf(entry{name: "crds/widget.yaml", content: definition}, entry{name: "templates/a.yaml", content: template}))
	request, err := r.store(t, nil).Prepare(t.Context(), Source{Install: layer, Form: FormChart}, &fakeCluster{version: "v1.36.1"})
	require.NoError(t, err)
	rendered, err := request.Render(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"widgets.own.example.com", "version", "kind"}, names(rendered))
}

func TestARenderRequestNamesTheSilentAPIs(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	s := r.store(t, nil)
	cluster := &fakeCluster{version: "v1.36.1", apis: []string{"v1"}, silent: []string{"metrics.k8s.io/v1beta1"}}
	for name, c := range map[string]struct {
		template string
		silent   []string
	}{
		"a chart that asks for all":        {`{{ $api := "a/v1" }}{{ .Capabilities.APIVersions.Has $api }}`, cluster.silent},
		"a chart that asks for one":        {`{{ .Capabilities.APIVersions.Has "v1" }}`, nil},
		"a chart that does not ask at all": {"plain", nil},
	} {
		request, err := s.Prepare(t.Context(), Source{Install: r.push(t, chartOf(entry{name: "templates/a.yaml", content: "# " + c.template + "\n" + configMapNamed("a")}))}, cluster)
		require.NoError(t, err, name)
		require.Equal(t, c.silent, request.Silent, name)
	}
}

func TestHostileChartsAreRefused(t *testing.T) {
	t.Parallel()
	template := func(text string) []byte { return chartOf(entry{name: "templates/a.yaml", content: text}) }
	tests := []struct {
		name     string
		layer    []byte
		contains string
	}{
		{"a template that does not parse", template("{{ if }}"), "parse error"},
		{"a template that fails", template(`{{ fail "give me values" }}`), "give me values"},
		{"a template that never ends", template(`{{ range $i := until 100000 }}{{ range $j := until 100000 }}{{ range $k := until 100000 }}{{ end }}{{ end }}{{ end }}`), "did not render within 5s of processor time"},
		{"a schema that refers to another host", chartOf(entry{name: "values.schema.json", content: `{"$ref": "http://127.0.0.1:1/schema.json"}`}, entry{name: "templates/a.yaml", content: configMapNamed("a")}), "refers to http://127.0.0.1:1/schema.json, which is not fetched"},
		{"a schema that refers to a file", chartOf(entry{name: "values.schema.json", content: `{"$ref": "file:///etc/hostname"}`}, entry{name: "templates/a.yaml", content: configMapNamed("a")}), "which is not fetched"},
		{"values that the schema refuses", chartOf(entry{name: "values.schema.json", content: `{"required": ["image"]}`}, entry{name: "templates/a.yaml", content: configMapNamed("a")}), "missing property 'image'"},
		{"a text that calls itself and would end the process", chartOf(entry{name: "values.yaml", content: "text: '{{ tpl .Values.text . }}'\n"}, entry{name: "templates/a.yaml", content: "{{ tpl .Values.text . }}"}), "the chart "},
		{"a template that takes all memory", template(`{{ repeat 2000000000 "x" }}`), "MiB of memory"},
		{"a template that uses ever more memory", template(`{{ $s := "x" }}{{ range until 40 }}{{ $s = printf "%s%s" $s $s }}{{ end }}`), "MiB of memory"},
		{"a template that panics", template(`{{ index (list 1 2) 7 }}`), "index"},
		{"a text of more than is allowed", template(`# {{ repeat 2000 "xyz" }}`), "more than"},
		{"a template that calls itself", chartOf(entry{name: "templates/_a.tpl", content: `{{ define "a" }}{{ include "a" . }}{{ end }}`}, entry{name: "templates/b.yaml", content: `{{ include "a" . }}`}), "templates"},
		{"a chart without a version", zipped(archive(entry{name: "sample/Chart.yaml", content: "apiVersion: v2\nname: sample\n"})), "version"},
		{"a library", zipped(archive(entry{name: "sample/Chart.yaml", content: chartYAML + "type: library\n"})), "library"},
		{"a chart for another Kubernetes", zipped(archive(entry{name: "sample/Chart.yaml", content: chartYAML + "kubeVersion: '>= 1.99'\n"}, entry{name: "sample/templates/a.yaml", content: configMapNamed("a")})), "1.99"},
		{"a chart with files beside it", zipped(archive(entry{name: "sample/Chart.yaml", content: chartYAML}, entry{name: "other/a.yaml", content: "x"})), "beside"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := renderLayer(t, test.layer, FormChart, func(o *Options) {
				o.Limits.RenderTime, o.Limits.RenderWait, o.Limits.RenderBytes = 5*time.Second, 5*time.Minute, smallRenderBytes
				o.Limits.UnpackedBytes = 5000
				if strings.Contains(test.name, "memory") || strings.Contains(test.name, "more than is allowed") {
					o.Limits.RenderTime = time.Minute
				}
			})
			require.Error(t, err)
			require.Equal(t, fault.Rejected, fault.Of(err).Kind, err.Error())
			require.Contains(t, []string{render.ReasonInvalidChart, render.ReasonLayerTooLarge}, fault.Of(err).Reason)
			require.Contains(t, err.Error(), test.contains)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

// On a busy node a chart may get hardly any processor time. That must not reject the chart permanently.
func TestAChartWithoutProcessorTimeIsRetried(t *testing.T) {
	t.Parallel()
	endless := chartOf(entry{name: "templates/a.yaml", content: `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`})
	_, err := renderLayer(t, endless, FormChart, func(o *Options) { o.Limits.RenderTime, o.Limits.RenderWait = time.Minute, 500*time.Millisecond })
	require.Error(t, err)
	require.Equal(t, fault.Transient, fault.Of(err).Kind, err.Error())
	require.Equal(t, render.ReasonRendererFailed, fault.Of(err).Reason)
	require.Contains(t, err.Error(), "did not render within 500ms")
}

// A text with many aliases is few nodes, but may be more bytes than there is memory.
func TestAliasesOfLargeTextsAreRefusedBeforeExpansion(t *testing.T) {
	var document strings.Builder
	document.WriteString(configMapNamed("a") + "text: &a " + strings.Repeat("x", 8<<20) + "\nmany: [")
	for range 300_000 {
		document.WriteString("*a,")
	}
	document.WriteString("]\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := render.NewParser(render.Limits{}.WithDefaults()).Documents("it", []byte(document.String()))
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "aliases expand")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
}

func TestAliasesOfOrdinaryDocumentsAreExpanded(t *testing.T) {
	t.Parallel()
	p := render.NewParser(render.Limits{}.WithDefaults())
	require.NoError(t, p.Documents("it", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: z}, annotations: *l}\n")))
	require.Equal(t, map[string]string{"x": "z"}, p.Rendered.Objects[0].GetAnnotations())
}

// sparse returns an archive of a file with a size but no content (GNU's sparse format 1.0 in PAX headers).
func sparse(size int64) []byte {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, step := range []error{
		writer.WriteHeader(&tar.Header{Name: "a.yaml", Mode: 0o644, Size: 512, Format: tar.FormatPAX, PAXRecords: map[string]string{
			"GNU.sparsX.major": "1", "GNU.sparsX.minor": "0", "GNU.sparsX.name": "a.yaml", "GNU.sparsX.realsize": strconv.FormatInt(size, 10),
		}}),
		second(writer.Write(append([]byte("0\n"), make([]byte, 510)...))),
		writer.Close(),
	} {
		if step != nil {
			panic(step)
		}
	}
	// The library reads these records but does not write them.
	return bytes.ReplaceAll(buffer.Bytes(), []byte("sparsX"), []byte("sparse"))
}

func second(_ int, err error) error { return err }
