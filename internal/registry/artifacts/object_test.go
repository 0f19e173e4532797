package artifacts

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestFetchObjectReturnsTheOnlyObjectOfALayer(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	s := r.store(t, nil)
	const keda = "apiVersion: a/v1\nkind: Keda\nspec: {a: 1}\n"
	for name, layer := range map[string][]byte{
		"plain": []byte(keda), "compressed": zipped([]byte(keda)), "in an archive": archive(entry{name: "default.yaml", content: keda}),
	} {
		raw, err := s.FetchObject(context.Background(), r.push(t, layer))
		require.NoError(t, err, name)
		require.JSONEq(t, `{"apiVersion":"a/v1","kind":"Keda","spec":{"a":1}}`, string(raw), name)
	}
	for contains, layer := range map[string][]byte{
		"0 objects": []byte("---\n"), "2 objects": []byte(configMapNamed("a") + "---\n" + configMapNamed("b")),
		"apiVersion or kind": []byte("spec: {}\n"), "leaves the archive": archive(entry{name: "../a.yaml", content: keda}),
	} {
		_, err := s.FetchObject(context.Background(), r.push(t, layer))
		require.ErrorContains(t, err, contains)
		require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	}
}
