package harness_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// What the counts of other tests rest on.
func TestEveryVersionHasTwentyObjectsOfTenKinds(t *testing.T) {
	first := objects(t, harness.TwentyFirst())
	require.Equal(t, 3, differing(first, objects(t, harness.TwentyChanged())))
	require.Equal(t, 4, differing(first, objects(t, harness.TwentyExchanged())), "one more is new, and one is gone")
}

func objects(t *testing.T, v harness.TwentyVersion) map[string]string {
	t.Helper()
	found, kinds := map[string]string{}, map[string]bool{}
	for _, document := range bytes.Split(v.Layer("id"), []byte("---\n")) {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(document, &u.Object))
		kinds[u.GetKind()] = true
		found[u.GetKind()+" "+u.GetName()] = string(document)
	}
	require.Len(t, found, harness.TwentyObjects)
	require.Len(t, kinds, harness.TwentyKinds)
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
