package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// What a page shows as a resource is one that can be applied: no field of it is misspelt.
func TestTheResourcesOnThePagesAreSuch(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
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
