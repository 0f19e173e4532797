package twenty_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/twenty"
)

// What the counts of other tests rest on.
func TestEveryVersionHasTwentyObjectsOfTenKinds(t *testing.T) {
	first := objects(t, twenty.First())
	require.Equal(t, 3, differing(first, objects(t, twenty.Changed())))
	require.Equal(t, 4, differing(first, objects(t, twenty.Exchanged())), "one more is new, and one is gone")
}

func objects(t *testing.T, v twenty.Version) map[string]string {
	t.Helper()
	found, kinds := map[string]string{}, map[string]bool{}
	for _, document := range bytes.Split(v.Layer("id"), []byte("---\n")) {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(document, &u.Object))
		kinds[u.GetKind()] = true
		found[u.GetKind()+" "+u.GetName()] = string(document)
	}
	require.Len(t, found, twenty.Objects)
	require.Len(t, kinds, twenty.Kinds)
	return found
}

func differing(before, after map[string]string) int {
	total := 0
	for name, document := range after {
		if before[name] != document {
			total++
		}
	}
	return total
}
