package bundle

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestAnInjectedSecretHasADigestThatDoesNotDependOnItsData(t *testing.T) {
	t.Parallel()
	b := bundled(t,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: pull, annotations: {operator.kyma-project.io/inject-data-from-kcp: 'true'}}\ntype: Opaque\ndata: {dummy: ZHVtbXk=}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: own, annotations: {operator.kyma-project.io/inject-data-from-kcp: 'false'}}\ndata: {dummy: ZHVtbXk=}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: decoy, annotations: {operator.kyma-project.io/inject-data-from-kcp: 'true'}}\ndata: {a: b}\n",
	)
	asks := map[string]bool{}
	var original *Object
	for i := range b.Objects {
		o := &b.Objects[i]
		asks[o.name] = o.AsksForData
		if o.AsksForData {
			original = o
		}
	}
	require.Equal(t, map[string]bool{"pull": true, "own": false, "decoy": false}, asks)

	injected := func(data map[string][]byte, version string) map[string]any {
		o, err := original.Injected(data, version)
		require.NoError(t, err)
		body := filled(t, o.Body, "kyma-a")
		require.Equal(t, o.Digest, at(body, "metadata", "annotations", shared.AnnotationAppliedDigest))
		return body
	}
	body := injected(map[string][]byte{"password": []byte("hidden")}, "v1")
	require.Equal(t, map[string]any{"password": "aGlkZGVu"}, body["data"], "the data is replaced as a whole")
	require.Equal(t, "Opaque", body["type"])
	require.Equal(t, "kyma-a", at(body, "metadata", "labels", shared.LabelComponent))
	require.Equal(t, original.Digest+"-v1", at(body, "metadata", "annotations", shared.AnnotationAppliedDigest))
	require.Equal(t, original.Digest+"-v1", at(injected(map[string][]byte{"password": []byte("other")}, "v1"), "metadata", "annotations", shared.AnnotationAppliedDigest), "only the version counts")
	require.Equal(t, map[string]any{}, injected(nil, "v2")["data"])
	require.Equal(t, map[string]any{"dummy": "ZHVtbXk="}, filled(t, original.Body, "kyma-a")["data"], "the shared bundle is unchanged")
}

func TestALiveSecretShowsWhichVersionOfTheDataItHas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind        string
		annotations map[string]string
		version     string
		asks        bool
	}{
		"with data":    {"Secret", map[string]string{shared.AnnotationInjectData: "true", shared.AnnotationAppliedDigest: "abc-v1"}, "v1", true},
		"without":      {"Secret", map[string]string{shared.AnnotationInjectData: "true", shared.AnnotationAppliedDigest: "abc"}, "", true},
		"not applied":  {"Secret", map[string]string{shared.AnnotationInjectData: "true"}, "", true},
		"asks no more": {"Secret", map[string]string{shared.AnnotationAppliedDigest: "abc"}, "", false},
		"another kind": {"ConfigMap", map[string]string{shared.AnnotationInjectData: "true"}, "", false},
	} {
		version, asks := InjectedVersion(schema.GroupKind{Kind: test.kind}, test.annotations)
		require.Equal(t, test.version, version, name)
		require.Equal(t, test.asks, asks, name)
	}
}
