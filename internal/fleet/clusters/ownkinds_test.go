package clusters

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestOurOwnKindsNeedNoDiscovery(t *testing.T) {
	t.Parallel()
	for kind, plural := range map[string]string{
		"Kyma": "kymas", "ModuleTemplate": "moduletemplates", "ModuleReleaseMeta": "modulereleasemetas",
	} {
		known, ok := ownPlural(v1beta2.GroupVersion.WithKind(kind))
		require.True(t, ok, kind)
		require.Equal(t, plural, known, kind)
	}
}
