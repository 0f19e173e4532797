package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Objects that are too large for the annotation of a client-side apply, which holds 256 KiB, in a layer of more than 5
// MB.
func TestALayerOfFiveMegabytesIsInstalled(t *testing.T) {
	const objects, bytes = 8, 700_000
	var layer strings.Builder
	for i := range objects {
		fmt.Fprintf(&layer, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large-%d}\ndata: {content: %s}\n", i, strings.Repeat("x", bytes))
	}
	require.Greater(t, layer.Len(), 5<<20)
	s := newEnvironment(t, layer.String(), nil)
	seen := s.ready(s.wait(s.apply().Observed))
	require.Equal(t, shared.StateReady, seen.State, seen.Message)
	require.Equal(t, int32(objects), seen.Total)
	content, _, err := unstructured.NestedString(s.get("v1", "ConfigMap", "ID-remote", "large-7").Object, "data", "content")
	require.NoError(t, err)
	require.Len(t, content, bytes)
}
