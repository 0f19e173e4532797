package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// An upgrade that needs a downtime waits for the Kyma's maintenance window, and for nothing else.
func TestAnUpgradeWithADowntimeWaitsForTheMaintenanceWindow(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.json")
	begin := time.Now().Add(240 * time.Hour).UTC().Truncate(time.Second)
	writePolicy(t, policy, begin)
	s := harness.NewEnvironment(t, "--maintenance-policy-path", policy)
	s.PushModule(harness.MinimalModule{Name: "careful", Channels: "regular", Config: "requiresDowntime: true"})
	s.PushMinimal("carefree")
	s.Instance.Start()
	s.Create(harness.NewKyma("patient", "careful", "carefree"))
	// A first installation waits for nothing.
	s.BecomesReady("patient", "careful@1.0.0", "carefree@1.0.0")

	s.PushModule(harness.MinimalModule{Name: "careful", Version: "1.1.0", Channels: "regular", Config: "requiresDowntime: true"})
	s.PushModule(harness.MinimalModule{Name: "carefree", Version: "1.1.0", Channels: "regular"})
	s.Eventually("one waits, and the other does not", 2*time.Minute, func(c *assert.CollectT) {
		module := s.Module("patient", "careful")
		assert.True(c, module.Maintenance)
		assert.Equal(c, "waiting for next maintenance window to update module version", module.Message)
		assert.Equal(c, "the next maintenance window begins at "+begin.Format(time.RFC3339), module.Hint)
		assert.Equal(c, "1.0.0", module.Version)
		assert.Equal(c, shared.StateReady, module.State)
		assert.Equal(c, "1.1.0", s.MinimalVersion(harness.RemoteNamespace, "carefree"))
	})
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "careful"))

	writePolicy(t, policy, time.Now().Add(-time.Hour))
	s.BecomesReady("patient", "careful@1.1.0", "carefree@1.1.0")
	require.Equal(t, "1.1.0", s.MinimalVersion(harness.RemoteNamespace, "careful"))
	module := s.Module("patient", "careful")
	require.False(t, module.Maintenance)
	require.Empty(t, module.Message)
}

// writePolicy makes a policy with one window of six hours for all Kymas, replaced as a mounted ConfigMap is.
func writePolicy(t *testing.T, path string, begin time.Time) {
	t.Helper()
	content := fmt.Sprintf(`{"rules":[],"default":{"begin":%q,"end":%q}}`,
		begin.UTC().Format(time.RFC3339), begin.Add(6*time.Hour).UTC().Format(time.RFC3339))
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}
