// Package istio gives a cluster of the fleet the kinds of Istio's that Watchers are routed with. There is no Istio behind
// them: what a control plane needs of it is written there, and nobody routes anything.
package istio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are those that are installed.
func kinds() []string { return []string{"Gateway", "VirtualService"} }

// Install creates Istio's own definitions of Gateway and VirtualService, as its module has them, and waits until they are
// served. They stay: other tests may use them at the same time.
func Install(t testing.TB, c client.Client) {
	t.Helper()
	for _, definition := range definitions(t) {
		if err := c.Create(t.Context(), definition); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
		key := client.ObjectKeyFromObject(definition)
		require.Eventually(t, func() bool {
			now := &apiextensionsv1.CustomResourceDefinition{}
			return c.Get(context.Background(), key, now) == nil && slices.ContainsFunc(now.Status.Conditions, isEstablished)
		}, 2*time.Minute, 100*time.Millisecond)
	}
}

func isEstablished(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
}

// definitions reads the definitions from the module of Istio's API in the module cache.
func definitions(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "istio.io/api").Output()
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "kubernetes", "customresourcedefinitions.gen.yaml"))
	require.NoError(t, err)
	var found []*apiextensionsv1.CustomResourceDefinition
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := decoder.Decode(definition)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if definition.Spec.Group == "networking.istio.io" && slices.Contains(kinds(), definition.Spec.Names.Kind) {
			found = append(found, definition)
		}
	}
	require.Len(t, found, len(kinds()))
	return found
}
