// Package definitions installs the CustomResourceDefinitions that the Go modules of other projects bring.
package definitions

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
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Source is where definitions are.
type Source struct {
	// Folder is that of the Go module of this repository that requires the other one, Module the path of the other one, and
	// Files a pattern of files in it.
	Folder, Module, Files string
	// Group and Kinds are the definitions that are meant: there must be each of them.
	Group string
	Kinds []string
}

// Install creates the definitions of a source, and waits until they are served. They stay: other tests may use them at the
// same time. The client must know CustomResourceDefinitions.
func Install(t testing.TB, c client.Client, from Source) {
	t.Helper()
	for _, definition := range from.read(t) {
		Create(t, c, definition)
	}
}

// Create creates a definition unless it is there, and waits until it is served.
func Create(t testing.TB, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if err := c.Create(t.Context(), definition); !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	key := client.ObjectKeyFromObject(definition)
	require.Eventually(t, func() bool {
		now := &apiextensionsv1.CustomResourceDefinition{}
		return c.Get(context.Background(), key, now) == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established)
	}, 2*time.Minute, 100*time.Millisecond)
}

// read reads the definitions from the other module in the module cache.
func (s Source) read(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", s.Module)
	list.Dir = filepath.Join(testfleet.Root(t), s.Folder)
	folder, err := list.Output()
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), s.Files))
	require.NoError(t, err)
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			err := decoder.Decode(definition)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if definition.Spec.Group == s.Group && slices.Contains(s.Kinds, definition.Spec.Names.Kind) {
				found = append(found, definition)
			}
		}
	}
	require.Len(t, found, len(s.Kinds))
	return found
}
