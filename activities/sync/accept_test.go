package sync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// The rest of a synchronization may fail for a long time. Until the Manifests are written, they must match the recorded
// plan.
func TestAPlanThatChangesExistingManifestsIsNotRecordedEarly(t *testing.T) {
	entry := func(name, digest string) v1beta2.PlannedManifest {
		return v1beta2.PlannedManifest{Name: name, Digest: digest}
	}
	for name, c := range map[string]struct {
		plan     []v1beta2.PlannedManifest
		recorded bool
	}{
		"a further module": {[]v1beta2.PlannedManifest{entry("a", "1"), entry("b", "1")}, true},
		"another version":  {[]v1beta2.PlannedManifest{entry("a", "2"), entry("b", "1")}, false},
		"one module less":  {[]v1beta2.PlannedManifest{entry("b", "1")}, false},
		"the same plan":    {[]v1beta2.PlannedManifest{entry("a", "1")}, true},
		"no modules":       {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Activities{Options: Options{Plan: func(context.Context, *v1beta2.Kyma) ([]string, []v1beta2.PlannedManifest, error) {
				return []string{"b"}, c.plan, nil
			}}}
			status := v1beta2.KymaStatus{Manifests: []string{"a"}, Planned: []v1beta2.PlannedManifest{entry("a", "1")}}
			before := status.Planned
			a.planned(t.Context(), &v1beta2.Kyma{}, v1beta2.RemoteStatus{})(&status)
			require.Equal(t, []string{"a", "b"}, status.Manifests, "names are only added")
			if c.recorded {
				require.Equal(t, c.plan, status.Planned)
			} else {
				require.Equal(t, before, status.Planned)
			}
		})
	}
}
