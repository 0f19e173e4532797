package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// What a page shows as a resource is one that can be applied: no field of it is misspelt.
func TestTheResourcesOnThePagesAreSuch(t *testing.T) {
	decoder := strictDecoder(t)
	shown := map[string]bool{}
	for page, text := range pages(t) {
		for _, block := range regexp.MustCompile("(?ms)^```yaml$\n(.*?)\n```$").FindAllStringSubmatch(text, -1) {
			for _, document := range regexp.MustCompile(`(?m)^---\n`).Split(block[1], -1) {
				if !strings.Contains(document, "apiVersion:") {
					continue
				}
				object, kind, err := decoder.Decode([]byte(document), nil, nil)
				require.NoError(t, err, "%s shows:\n%s", page, document)
				require.NotNil(t, object)
				shown[kind.Kind] = true
			}
		}
	}
	require.True(t, shown["Kyma"] && shown["Secret"], "no page shows a Kyma with its access Secret")
}

// strictDecoder reads the kinds of Kubernetes and our own, and refuses fields that they do not have.
func strictDecoder(t *testing.T) *json.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
}

// What needs an API server is in watchers/admission.
func TestTheExamplesAreUsableAndListed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testfleet.Root(t), "examples", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	list := pages(t)["examples/README.md"]
	templates, assigned, kinds := map[string]bool{}, []string{}, map[string]bool{}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "README.md" {
			continue
		}
		require.Contains(t, list, "]("+name+")", "examples/README.md does not list it")
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if filepath.Ext(name) == ".json" {
			_, err := windows.Parse(content)
			require.NoError(t, err, name)
		}
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		require.True(t, bytes.HasPrefix(content, []byte("# ")), "%s does not say what it is for", name)
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			object, kind, err := strictDecoder(t).Decode([]byte(document), nil, nil)
			require.NoError(t, err, name)
			kinds[kind.Kind] = true
			switch object := object.(type) {
			case *v1beta2.ModuleTemplate:
				require.Empty(t, descriptor.ValidateTemplate(object), name)
				templates[object.Name] = true
			case *v1beta2.ModuleReleaseMeta:
				for _, channel := range object.Spec.Channels {
					assigned = append(assigned, object.Spec.ModuleName+"-"+channel.Version)
				}
				if object.Spec.Mandatory != nil {
					assigned = append(assigned, object.Spec.ModuleName+"-"+object.Spec.Mandatory.Version)
				}
			}
		}
	}
	require.NotEmpty(t, assigned)
	for _, kind := range []string{"Kyma", "ModuleTemplate", "ModuleReleaseMeta", "Watcher", "RolloutPolicy", "ModuleRollout"} {
		require.True(t, kinds[kind], "no example shows a %s", kind)
	}
	for _, name := range assigned {
		require.True(t, templates[name], "no example is the ModuleTemplate %s", name)
	}
}
