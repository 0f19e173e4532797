package descriptor

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

//go:embed testdata
var descriptors embed.FS

// testdata returns a descriptor of testdata as JSON.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := descriptors.ReadFile("testdata/" + name)
	require.NoError(t, err)
	asJSON, err := yaml.YAMLToJSON(raw)
	require.NoError(t, err)
	return asJSON
}

// with returns a descriptor of testdata with another value at the path. Nil removes the value. Numbers in the path are
// indexes.
func with(t testing.TB, file, path string, value any) []byte {
	t.Helper()
	var content any
	require.NoError(t, json.Unmarshal(testdata(t, file), &content))
	content = changed(t, content, strings.Split(path, "."), value)
	raw, err := json.Marshal(content)
	require.NoError(t, err)
	return raw
}

func changed(t testing.TB, content any, path []string, value any) any {
	t.Helper()
	if len(path) == 0 {
		return value
	}
	switch node := content.(type) {
	case map[string]any:
		node[path[0]] = changed(t, node[path[0]], path[1:], value)
		if node[path[0]] == nil {
			delete(node, path[0])
		}
		return node
	case []any:
		i := int(path[0][0] - '0')
		node[i] = changed(t, node[i], path[1:], value)
		return node
	default:
		t.Fatalf("%s is in no object or list", path[0])
		return nil
	}
}

const (
	fileV2 = "v2.yaml"
	fileV3 = "v3alpha1.yaml"
)

func TestBothSchemasAreUnderstood(t *testing.T) {
	for _, file := range []string{fileV2, fileV3} {
		t.Run(file, func(t *testing.T) {
			d, err := Parse(testdata(t, file))
			require.NoError(t, err)
			require.Equal(t, "kyma-project.io/module/keda", d.Component)
			require.Equal(t, "1.2.3", d.Version)
			require.Equal(t, "registry.example.com/prod/modules", d.Repository)
			require.Len(t, d.Resources, 3)
			contents, problems := d.Contents()
			require.Empty(t, problems)
			require.Equal(t, "raw-manifest", contents.Install.Name)
			require.Equal(t, "sha256:"+strings.Repeat("a", 64), contents.Install.Digest)
			require.Equal(t, "default-cr", contents.DefaultCR.Name)
			require.Nil(t, contents.Config)
			require.Empty(t, Validate(d, Expectations{Version: "1.2.3", Module: "keda", Component: "kyma-project.io/module/keda"}))
		})
	}
}

func TestTheProviderMayBeANameOrAnObject(t *testing.T) {
	labels := []any{map[string]any{"name": "example.com/team", "value": map[string]any{"a": 1.5}}}
	for _, file := range []string{fileV2, fileV3} {
		at := map[string]string{fileV2: "component.provider", fileV3: "metadata.provider"}[file]
		for name, provider := range map[string]any{
			"a name":                   "kyma-project.io",
			"an object":                map[string]any{"name": "kyma-project.io"},
			"an object with labels":    map[string]any{"name": "kyma-project.io", "labels": labels},
			"an object as text, of v2": `{"name":"kyma-project.io"}`,
		} {
			t.Run(file+": "+name, func(t *testing.T) {
				decoded, err := Decode(with(t, file, at, provider))
				require.NoError(t, err)
				if name == "an object as text, of v2" && file == fileV3 {
					require.Contains(t, decoded.Provider.Name, "{", "v3alpha1 has an object for it, so the text is a name")
					return
				}
				require.Equal(t, "kyma-project.io", string(decoded.Provider.Name))
				require.Equal(t, name == "an object with labels", len(decoded.Provider.Labels) == 1)
			})
		}
		for name, provider := range map[string]any{
			"nothing": nil, "an empty name": "", "an object without name": map[string]any{"labels": labels},
			"an empty object": map[string]any{}, "a number": 5, "a list": []any{"kyma-project.io"},
		} {
			t.Run(file+": "+name+" is refused", func(t *testing.T) {
				_, err := Parse(with(t, file, at, provider))
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, at)
			})
		}
	}
}

func TestProblemsInADescriptorHavePaths(t *testing.T) {
	resource := map[string]any{"name": "raw-manifest", "type": "raw-manifest", "relation": "local", "version": "1.2.3", "access": map[string]any{"type": "localBlob"}}
	for _, test := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"no schema", with(t, fileV2, "meta", nil), "meta.schemaVersion: Required value"},
		{"an unknown schema", with(t, fileV2, "meta.schemaVersion", "v9"), `meta.schemaVersion: Unsupported value: "v9": supported values: "v2"`},
		{"a schema that is not a string", with(t, fileV2, "meta.schemaVersion", 2), "meta: Invalid value: must be an object with a schemaVersion"},
		{"an unknown version of the new schema", with(t, fileV3, "apiVersion", "ocm.software/v9"), `apiVersion: Unsupported value: "ocm.software/v9"`},
		{"both schemas", with(t, fileV2, "apiVersion", "ocm.software/v3alpha1"), "apiVersion: Forbidden: meta.schemaVersion is also set"},
		{"another kind", with(t, fileV3, "kind", "Component"), "kind: Invalid value"},
		{"no component", with(t, fileV2, "component", nil), "component: Required value"},
		{"a component that is text", with(t, fileV2, "component", "keda"), `component: Invalid value: "keda"`},
		{"no name", with(t, fileV2, "component.name", nil), "component.name: Required value"},
		{"no name in the new schema", with(t, fileV3, "metadata.name", nil), "metadata.name: Required value"},
		{"a name without domain", with(t, fileV2, "component.name", "keda"), `component.name: Invalid value: "keda": Does not match pattern`},
		{"no version", with(t, fileV2, "component.version", nil), "component.version: Required value"},
		{"an invalid version", with(t, fileV2, "component.version", "latest"), `component.version: Invalid value: "latest"`},
		{"no resources", with(t, fileV2, "component.resources", nil), "component.resources: Required value"},
		{"resources as text", with(t, fileV2, "component.resources", "x"), `component.resources: Invalid value: "x"`},
		{"a resource without access", with(t, fileV2, "component.resources.1.access", nil), "component.resources[1].access: Required value"},
		{"an access without type", with(t, fileV2, "component.resources.1.access.type", nil), "component.resources[1].access.type: Required value"},
		{"an access without type in the new schema", with(t, fileV3, "spec.resources.1.access.type", nil), "spec.resources[1].access.type: Required value"},
		{"a resource without relation", with(t, fileV2, "component.resources.0.relation", nil), "component.resources[0].relation: Required value"},
		{"a resource without version", with(t, fileV2, "component.resources.0.version", nil), "component.resources[0].version: Required value"},
		{"a resource twice", with(t, fileV2, "component.resources", []any{resource, resource}), "component.resources[1]: Duplicate value"},
		{"an unknown field", with(t, fileV3, "spec.things", 1), "spec.things: Forbidden: is not known in this schema"},
		{"a mapping of names that is not supported", with(t, fileV2, "component.repositoryContexts.0.componentNameMapping", "by-colour"),
			`component.repositoryContexts[0].componentNameMapping: Unsupported value: "by-colour": supported values: "urlPath", "sha256-digest"`},
		{"a base URL that is not a string", with(t, fileV3, "repositoryContexts.0.baseUrl", 5), "repositoryContexts[0]: Invalid value"},
		{"a size that is not a number", with(t, fileV2, "component.resources.0.access.size", "big"), "component.resources[0].access: Invalid value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.raw)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, test.want)
			var known *Error
			require.ErrorAs(t, err, &known)
			again := err.Error()
			for range 5 {
				_, err = Parse(test.raw)
				require.EqualError(t, err, again, "a changing message would be written at each reconcile")
			}
		})
	}
	for name, raw := range map[string]string{
		"nothing": "", "no YAML": "{{", "a list": "[]", "text": "keda", "too much": strings.Repeat(" ", maxSize+1),
		"an alias to itself": "a: &a [*a]",
	} {
		_, err := Parse([]byte(raw))
		require.ErrorIs(t, err, ErrInvalid, name)
	}
}

func TestMessagesShortenLongValuesAndListsOfProblems(t *testing.T) {
	_, err := Parse(with(t, fileV2, "component.name", strings.Repeat("ä", 5000)))
	require.Less(t, len(err.Error()), 500)
	many := make([]any, 500)
	for i := range many {
		many[i] = map[string]any{}
	}
	_, err = Parse(with(t, fileV2, "component.resources", many))
	require.Less(t, len(err.Error()), 1000)
}

func TestContentsHasTheImagesOfAComponent(t *testing.T) {
	image := func(reference string, digest map[string]any) map[string]any {
		resource := map[string]any{
			"name": "image", "type": "ociImage", "relation": "external", "version": "1.2.3",
			"access": map[string]any{"type": "ociArtifact/v1", "imageReference": reference},
		}
		if digest != nil {
			resource["digest"] = digest
		}
		return resource
	}
	raw := testdata(t, fileV2)
	var content map[string]any
	require.NoError(t, json.Unmarshal(raw, &content))
	component, ok := content["component"].(map[string]any)
	require.True(t, ok)
	before, ok := component["resources"].([]any)
	require.True(t, ok)
	hex := strings.Repeat("d", 64)
	described := func(images ...map[string]any) (Contents, field.ErrorList) {
		all := slices.Clone(before)
		for i, one := range images {
			one["name"] = fmt.Sprintf("image-%d", i)
			all = append(all, one)
		}
		d, err := Parse(with(t, fileV2, "component.resources", all))
		require.NoError(t, err)
		return d.Contents()
	}
	artifact := map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": hex}
	blob := map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": hex}
	contents, problems := described(
		image("local.example.com:5000/x/operator:1.2.3", nil), image("local.example.com/x/proxy:2", artifact), image("local.example.com/x/agent:2", blob),
		image("local.example.com/x/tool@sha256:"+hex, artifact), image("local.example.com:5000/x/operator:1.2.3", nil),
	)
	require.Empty(t, problems)
	require.Equal(t, []string{
		"local.example.com:5000/x/operator:1.2.3", "local.example.com/x/proxy:2@sha256:" + hex, "local.example.com/x/agent:2",
		"local.example.com/x/tool@sha256:" + hex,
	}, contents.Images, "each image once, with its digest from the component")

	for name, one := range map[string]map[string]any{
		"a name only":      image("operator:1.2.3", nil),
		"no tag":           image("local.example.com:5000/x/operator", nil),
		"no image at all":  image("Local Example/x:1", nil),
		"two in one":       image("local.example.com/x:1,local.example.com/y:1", nil),
		"too long":         image("local.example.com/"+strings.Repeat("a/", 600)+"a:1", nil),
		"another artifact": image("local.example.com/x:1@sha256:"+strings.Repeat("e", 64), artifact),
	} {
		contents, problems := described(one)
		require.Len(t, problems, 1, name)
		require.Equal(t, "component.resources[3].access.imageReference", problems[0].Field, name)
		require.Empty(t, contents.Images, name)
	}
	many := make([]map[string]any, 513)
	for i := range many {
		many[i] = image(fmt.Sprintf("local.example.com/x/image-%d:1", i), nil)
	}
	_, problems = described(many...)
	require.ErrorContains(t, problems.ToAggregate(), "at most 512 images")
}

func TestProblemsOfContentsHavePaths(t *testing.T) {
	image := map[string]any{"name": "image", "type": "ociImage", "relation": "external", "version": "1.2.3", "access": map[string]any{"type": "ociArtifact", "imageReference": "example.com/a:1"}}
	for _, test := range []struct {
		name     string
		raw      []byte
		expected Expectations
		want     string
	}{
		{"nothing to install", with(t, fileV2, "component.resources", []any{image}), Expectations{},
			"component.resources: Required value: component kyma-project.io/module/keda has nothing to install"},
		{"no resource at all", with(t, fileV2, "component.resources", []any{}), Expectations{}, "component.resources: Required value"},
		{"two things to install", with(t, fileV3, "spec.resources.2.type", "helm-chart"), Expectations{},
			"spec.resources: Forbidden: component kyma-project.io/module/keda has more than one thing to install: raw-manifest, image"},
		{"a kustomize folder", with(t, fileV2, "component.resources.2.type", "kustomize"), Expectations{},
			"component.resources[2].type: Forbidden: resource image: kustomize folders are not supported; ship what `kustomize build` prints as a raw-manifest"},
		{"an unsupported access", with(t, fileV2, "component.resources.0.access.type", "s3"), Expectations{},
			`component.resources[0].access.type: Unsupported value: "s3"`},
		{"a reference that is not a digest", with(t, fileV2, "component.resources.1.access.localReference", "default.yaml"), Expectations{},
			`component.resources[1].access.localReference: Invalid value: "default.yaml"`},
		{"a truncated digest", with(t, fileV2, "component.resources.0.access", map[string]any{"type": "localOciBlob", "digest": "sha256:abc"}), Expectations{},
			`component.resources[0].access.digest: Invalid value: "sha256:abc"`},
		{"a blob without a registry", with(t, fileV2, "component.resources.0.access", map[string]any{"type": "ociBlob", "ref": "blobs", "digest": "sha256:" + strings.Repeat("a", 64)}), Expectations{},
			`component.resources[0].access.ref: Invalid value: "blobs"`},
		{"two default custom resources", with(t, fileV2, "component.resources.2", map[string]any{"name": "other", "type": "default-cr", "relation": "local", "version": "1.2.3",
			"access": map[string]any{"type": "localBlob", "localReference": "sha256:" + strings.Repeat("c", 64)}}), Expectations{},
			"component.resources[2]: Forbidden: a second default-cr: there is already resource default-cr"},
		{"blobs without a location", with(t, fileV2, "component.repositoryContexts", []any{}), Expectations{},
			"component.repositoryContexts: Required value: component kyma-project.io/module/keda: no repositoryContexts name the repository of its resources"},
		{"another version", testdata(t, fileV2), Expectations{Version: "1.2.4"},
			`component.version: Invalid value: "1.2.3": the ModuleTemplate has version 1.2.4, but its component kyma-project.io/module/keda has version 1.2.3`},
		{"another version in the new schema", testdata(t, fileV3), Expectations{Version: "1.2.4"}, `metadata.version: Invalid value: "1.2.3"`},
		{"another module", testdata(t, fileV2), Expectations{Module: "istio"},
			`component.name: Invalid value: "kyma-project.io/module/keda": the ModuleTemplate is for module istio, but its component is for module keda`},
		{"another component", testdata(t, fileV2), Expectations{Component: "kyma-project.io/module/istio"},
			`component.name: Invalid value: "kyma-project.io/module/keda": the ModuleTemplate is for component kyma-project.io/module/istio`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse(test.raw)
			require.NoError(t, err)
			require.ErrorContains(t, Validate(d, test.expected).ToAggregate(), test.want)
		})
	}
	for _, test := range []struct {
		name     string
		raw      []byte
		expected Expectations
	}{
		{"a leading v does not count", testdata(t, fileV2), Expectations{Version: "v1.2.3"}},
		{"a component may belong to any module if its name is no module name", with(t, fileV2, "component.name", "kyma-project.io/module/s3-store"), Expectations{Module: "store"}},
		{"the blobs of a fetched descriptor are in its repository", with(t, fileV2, "component.repositoryContexts", []any{}), Expectations{Fetched: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse(test.raw)
			require.NoError(t, err)
			require.Empty(t, Validate(d, test.expected))
		})
	}
}

func TestModuleTemplates(t *testing.T) {
	template := func(change func(*v1beta2.ModuleTemplateSpec)) *v1beta2.ModuleTemplate {
		m := &v1beta2.ModuleTemplate{Spec: v1beta2.ModuleTemplateSpec{
			ModuleName: "keda", Version: "1.2.3", Descriptor: &runtime.RawExtension{Raw: testdata(t, fileV2)},
		}}
		change(&m.Spec)
		return m
	}
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	for _, test := range []struct {
		name   string
		change func(*v1beta2.ModuleTemplateSpec)
		want   []string
	}{
		{"a good one", func(*v1beta2.ModuleTemplateSpec) {}, nil},
		{"an empty descriptor is fetched later", func(s *v1beta2.ModuleTemplateSpec) { s.Descriptor = raw(" {} ") }, nil},
		{"a descriptor that is null is fetched later", func(s *v1beta2.ModuleTemplateSpec) { s.Descriptor = raw("null") }, nil},
		{"no descriptor is fetched later", func(s *v1beta2.ModuleTemplateSpec) { s.Descriptor = nil }, nil},
		{"neither version nor module name", func(s *v1beta2.ModuleTemplateSpec) { s.Version, s.ModuleName = "", "" }, nil},
		{"a broken descriptor", func(s *v1beta2.ModuleTemplateSpec) {
			s.Descriptor = raw(string(with(t, fileV2, "component.resources.1.access.type", nil)))
		}, []string{"spec.descriptor.component.resources[1].access.type"}},
		{"a descriptor without a component name", func(s *v1beta2.ModuleTemplateSpec) { s.Descriptor = raw(`{"component":{"version":"1.2.3"}}`) },
			[]string{"spec.descriptor.meta.schemaVersion"}},
		{"a descriptor that is not an object", func(s *v1beta2.ModuleTemplateSpec) { s.Descriptor = raw(`"keda"`) }, []string{"spec.descriptor"}},
		{"another version and module", func(s *v1beta2.ModuleTemplateSpec) { s.Version, s.ModuleName = "2.0.0", "istio" },
			[]string{"spec.descriptor.component.version", "spec.descriptor.component.name"}},
		{"an empty default custom resource counts as none", func(s *v1beta2.ModuleTemplateSpec) { s.Data = raw("{}") }, nil},
		{"a default custom resource", func(s *v1beta2.ModuleTemplateSpec) {
			s.Data = raw(`{"apiVersion":"a/v1","kind":"Keda","metadata":{"name":"default"}}`)
		}, nil},
		{"a default custom resource without name gets the Manifest's", func(s *v1beta2.ModuleTemplateSpec) { s.Data = raw(`{"apiVersion":"a/v1","kind":"Keda"}`) }, nil},
		{"a default custom resource without kind", func(s *v1beta2.ModuleTemplateSpec) {
			s.Data = raw(`{"apiVersion":"a/v1","metadata":{"name":"default"}}`)
		}, []string{"spec.data.kind"}},
		{"a default custom resource of nothing", func(s *v1beta2.ModuleTemplateSpec) { s.Data = raw(`{"spec":{}}`) }, []string{"spec.data.apiVersion", "spec.data.kind"}},
		{"a default custom resource with a kind that is not a string", func(s *v1beta2.ModuleTemplateSpec) { s.Data = raw(`{"apiVersion":"v1","kind":5}`) }, []string{"spec.data.kind"}},
		{"a default custom resource with broken metadata", func(s *v1beta2.ModuleTemplateSpec) { s.Data = raw(`{"apiVersion":"v1","kind":"A","metadata":"x"}`) }, []string{"spec.data.metadata"}},
		{"a default custom resource with a name that is not a string", func(s *v1beta2.ModuleTemplateSpec) {
			s.Data = raw(`{"apiVersion":"v1","kind":"A","metadata":{"name":5}}`)
		}, []string{"spec.data.metadata.name"}},
		{"all problems are reported at once", func(s *v1beta2.ModuleTemplateSpec) { s.Data, s.Version = raw(`{"kind":"A"}`), "2.0.0" },
			[]string{"spec.data.apiVersion", "spec.descriptor.component.version"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, paths(ValidateTemplate(template(test.change))))
		})
	}
}

func paths(problems field.ErrorList) []string {
	var all []string
	for _, problem := range problems {
		all = append(all, problem.Field)
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{fileV2, fileV3} {
		f.Add(testdata(f, file))
		raw, err := descriptors.ReadFile("testdata/" + file)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"meta":{"schemaVersion":"v2"},"component":{"provider":{"name":"a","labels":[{}]},"resources":[null,{"access":[]}],"repositoryContexts":[null,5]}}`))
	f.Add([]byte(`{"apiVersion":"ocm.software/v3alpha1","metadata":{"provider":"a"},"spec":{"resources":[{"access":{"type":null}}]}}`))
	f.Add([]byte("a: &a [*a, *a]\nb: !!binary x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Parse(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Nil(t, d)
			return
		}
		require.NotEmpty(t, d.Component)
		require.NotEmpty(t, d.Version)
		first := Validate(d, Expectations{Version: "1.2.3", Module: "keda"}).ToAggregate()
		again, err := Parse(raw)
		require.NoError(t, err)
		require.Equal(t, d, again)
		require.Equal(t, first, Validate(again, Expectations{Version: "1.2.3", Module: "keda"}).ToAggregate())
	})
}

func TestCredentialsInADescriptorAreRefusedAndNotQuoted(t *testing.T) {
	t.Parallel()
	context := func(address string) map[string]any {
		return map[string]any{"type": "OCIRegistry", "baseUrl": address}
	}
	for name, raw := range map[string][]byte{
		"in the base URL":            with(t, fileV2, "component.repositoryContexts", []any{context("https://me:s3cret@registry.example.com")}),
		"without a scheme":           with(t, fileV2, "component.repositoryContexts", []any{context("me:s3cret@registry.example.com/a")}),
		"with a slash in them":       with(t, fileV2, "component.repositoryContexts", []any{context("https://me:s3cret/x@registry.example.com")}),
		"in one without effect":      with(t, fileV3, "repositoryContexts", []any{context("me:s3cret@old.example.com"), context("registry.example.com")}),
		"in a reference to a blob":   with(t, fileV2, "component.resources.0.access", map[string]any{"type": "ociBlob", "ref": "me:s3cret@registry.example.com/a", "digest": "sha256:" + strings.Repeat("0", 64)}),
		"in a reference to an image": with(t, fileV2, "component.resources.0.access", map[string]any{"type": "ociArtifact", "imageReference": "me:s3cret@registry.example.com/a@sha256:" + strings.Repeat("0", 64)}),
	} {
		_, err := Parse(raw)
		require.ErrorContains(t, err, "contains credentials", name)
		require.NotContains(t, err.Error(), "s3cret", name)
	}
}
