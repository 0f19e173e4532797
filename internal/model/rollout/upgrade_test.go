package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func manifestOf(version string, state shared.State) *v1beta2.Manifest {
	m := &v1beta2.Manifest{Spec: v1beta2.ManifestSpec{Version: version}}
	m.Status.State = state
	return m
}

func TestAnUpgradeIsRecordedOnTheManifest(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123, time.FixedZone("", 3600))
	for state, well := range map[shared.State]bool{
		shared.StateReady: true, shared.StateWarning: true, shared.StateError: false, shared.StateProcessing: false, shared.StateDeleting: false, "": false,
	} {
		wanted := manifestOf("1.1.0", "")
		NoteUpgrade(manifestOf("1.0.0", state), wanted, at)
		require.Equal(t, Upgrade{From: "1.0.0", At: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), WasWell: well}, UpgradeOf(wanted), state)
	}
}

func TestTheRecordStaysUntilTheNextUpgrade(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := manifestOf("1.1.0", shared.StateError)
	NoteUpgrade(manifestOf("1.0.0", shared.StateReady), first, at)

	same := manifestOf("1.1.0", "")
	NoteUpgrade(first, same, at.Add(time.Hour))
	require.Equal(t, UpgradeOf(first), UpgradeOf(same))

	back := manifestOf("1.0.0", "")
	NoteUpgrade(same, back, at.Add(2*time.Hour))
	require.Equal(t, Upgrade{From: "1.1.0", At: at.Add(2 * time.Hour)}, UpgradeOf(back), "a downgrade counts too")
}

func TestAManifestWithOnlyOneVersionHasNoRecord(t *testing.T) {
	wanted := manifestOf("1.0.0", "")
	NoteUpgrade(manifestOf("1.0.0", shared.StateReady), wanted, time.Now())
	require.Nil(t, wanted.Annotations)
	NoteUpgrade(nil, wanted, time.Now())
	NoteUpgrade(manifestOf("1.0.0", ""), nil, time.Now())
	require.Nil(t, wanted.Annotations)
	require.Equal(t, Upgrade{}, UpgradeOf(wanted))
}

func TestAnEditedRecordIsIgnored(t *testing.T) {
	m := manifestOf("1.0.0", "")
	for _, text := range []string{"", "yesterday", `{"at":7}`, "[]"} {
		m.Annotations = map[string]string{AnnotationUpgrade: text, "theirs": "stays"}
		require.Equal(t, Upgrade{}, UpgradeOf(m), text)
	}
}
