package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const example = `{"watched":{"Namespace":"kyma-system","Name":"default"},"watchedGvk":{"group":"operator.kyma-project.io","version":"v1beta2","kind":"Kyma"}}`

func TestAnEventNamesWhatChanged(t *testing.T) {
	wanted := shared.RemoteEvent{
		Watched:    shared.WatchedObject{Namespace: "kyma-system", Name: "default"},
		WatchedGVK: shared.WatchedGVK{Group: "operator.kyma-project.io", Version: "v1beta2", Kind: "Kyma"},
	}
	for name, body := range map[string]string{
		"of this generation":       example,
		"of the first generation":  `{"owner":{"Namespace":"a","Name":"b"},` + example[1:],
		"in any case of the names": strings.ReplaceAll(example, "Name", "name"),
	} {
		t.Run(name, func(t *testing.T) {
			read, err := Parse([]byte(body))
			require.NoError(t, err)
			require.Equal(t, wanted, read)
		})
	}
	read, err := Parse([]byte(`{"watched":{"Name":"system:node"},"watchedGvk":{"version":"v1","kind":"ClusterRole"}}`))
	require.NoError(t, err)
	require.Equal(t, "system:node", read.Watched.Name)
}

func TestImpossibleNamesAreRefused(t *testing.T) {
	change := func(old, by string) string { return strings.Replace(example, old, by, 1) }
	for name, body := range map[string]string{
		"nothing": ``, "null": `null`, "a list": `[]`, "no object": `{}`, "more after it": example + "{}", "another type": `{"watched":1}`,
		"no name": change(`"default"`, `""`), "a name that is a path": change(`"default"`, `"../x"`), "a line break": change(`"default"`, `"a\nb"`),
		"a name that is too long": change(`"default"`, `"`+strings.Repeat("x", 254)+`"`), "no kind": change(`"Kyma"`, `""`), "a kind with an underscore": change(`"Kyma"`, `"K_ma"`),
		"a namespace in capitals": change(`"kyma-system"`, `"Kyma"`), "a group with a space": change(`"operator.kyma-project.io"`, `"a b"`),
		"a version that is too long": change(`"v1beta2"`, `"`+strings.Repeat("v", 64)+`"`), "a control character": change(`"default"`, `"a\u0000b"`),
		"deep": strings.Repeat(`{"watched":`, 4000),
	} {
		t.Run(name, func(t *testing.T) {
			read, err := Parse([]byte(body))
			require.ErrorIs(t, err, ErrInvalid)
			require.Empty(t, read)
			require.LessOrEqual(t, len(err.Error()), 100, "the error must not repeat the body")
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{example, ``, `{}`, `{"watched":{"Name":"a"},"watchedGvk":{"kind":"K"}}`, `{"watched":{"Name":"\ud800"},"watchedGvk":{"kind":"K"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := Parse(body)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Empty(t, read)
			return
		}
		require.LessOrEqual(t, len(read.Watched.Name), 253)
		require.NotContains(t, read.Watched.Name, "/")
		require.NotContains(t, read.WatchedGVK.Kind, "_")
		require.NotContains(t, read.Watched.Namespace, "_")
		written, err := json.Marshal(read)
		require.NoError(t, err)
		again, err := Parse(written)
		require.NoError(t, err)
		require.Equal(t, read, again)
	})
}
