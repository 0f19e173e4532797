package rollout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestAManifestRecordsWhyItDoesNotGetAVersion(t *testing.T) {
	m := &v1beta2.Manifest{Spec: v1beta2.ManifestSpec{Version: "1.0.0"}}
	noted := func(text, version string) (HeldBack, bool) {
		m.Annotations = map[string]string{AnnotationHeldBack: text}
		return HeldBackFrom(m, version)
	}
	waits := HeldBack{Version: "1.1.0", Waits: true}
	held, ok := noted(waits.Text(), "1.1.0")
	require.True(t, ok)
	require.Equal(t, waits, held)

	long := HeldBack{Version: "1.1.0", Reason: "Refused", Message: strings.Repeat("x", 5000)}
	require.Less(t, len(long.Text()), 700)
	held, ok = noted(long.Text(), "1.1.0")
	require.True(t, ok)
	require.Equal(t, "Refused", held.Reason)

	_, ok = noted(waits.Text(), "1.2.0")
	require.False(t, ok, "the record is about another version")
	for _, text := range []string{"", "{}", "no JSON"} {
		_, ok = noted(text, "1.1.0")
		require.False(t, ok, text)
	}
	m.Spec.Version = "1.1.0"
	_, ok = noted(waits.Text(), "1.1.0")
	require.False(t, ok, "the Manifest has the version now")
}
