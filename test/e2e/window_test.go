package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// An upgrade that needs a downtime waits for the Kyma's maintenance window, and for nothing else. What the script of upstream's
// repository generates has windows with dates for two regions, and an empty default.
func TestAnUpgradeWithADowntimeWaitsForTheMaintenanceWindow(t *testing.T) {
	policy, metrics := filepath.Join(t.TempDir(), "policy.json"), process.FreeAddress(t)
	now := time.Now().UTC()
	generated := generatedPolicy(now)
	replacePolicy(t, policy, generated)
	s := harness.NewEnvironment(t, "--maintenance-policy-path", policy, "--metrics-bind-address", metrics)
	s.PushModule(harness.MinimalModule{Name: "careful", Channels: "regular", Config: "requiresDowntime: true"})
	s.PushMinimal("carefree")
	s.Instance.Start()
	kyma := harness.NewKyma("regional", "careful", "carefree")
	kyma.Labels = map[string]string{shared.LabelRegion: "us"}
	s.Create(kyma)
	// A first installation waits for nothing.
	s.BecomesReady("regional", "careful@1.0.0", "carefree@1.0.0")
	s.PushModule(harness.MinimalModule{Name: "careful", Version: "1.1.0", Channels: "regular", Config: "requiresDowntime: true"})
	s.PushModule(harness.MinimalModule{Name: "carefree", Version: "1.1.0", Channels: "regular"})
	waits := func(what, hint, ofKyma string) {
		s.Eventually(what, 2*time.Minute, func(c *assert.CollectT) {
			module := s.Module("regional", "careful")
			assert.True(c, module.Maintenance)
			assert.Equal(c, "1.0.0", module.Version)
			assert.Equal(c, shared.StateReady, module.State)
			assert.Equal(c, "1.1.0", s.MinimalVersion(harness.RemoteNamespace, "carefree"), "what needs no downtime does not wait")
			assert.Equal(c, "waiting for next maintenance window to update module version", module.Message)
			assert.Contains(c, module.Hint, hint)
			operation := s.Kyma("regional").Status.LastOperation
			assert.Equal(c, "kyma is ready", operation.Operation)
			assert.Contains(c, operation.Hint, ofKyma)
		})
	}
	moveTo := func(region string) {
		harness.Edit(s.T, s.ControlPlane, s.Kyma("regional"), func(k *v1beta2.Kyma) { k.Labels[shared.LabelRegion] = region })
	}
	waits("an empty default is no window", "has no further window for this Kyma", "not updated: careful; the maintenance policy has no further window")
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "careful"))
	moveTo("europe")
	waits("the window of the rule that matches comes", "the next maintenance window begins at "+now.Add(24*time.Hour).Format(time.RFC3339), "")

	replacePolicy(t, policy, strings.Replace(generated, now.Add(24*time.Hour).Format(time.RFC3339), "tomorrow", 1))
	waits("a policy that is refused is named", `rules[1].windows[0].begin: "tomorrow" must be`, "not updated: careful; the maintenance policy cannot be used: ")
	require.Equal(t, "0", process.Metric(t, metrics, "lifecycle_mgr_maintenance_window_config_read_success"))

	replacePolicy(t, policy, generated)
	waits("the policy is read again", "begins at ", "")
	require.Equal(t, "1", process.Metric(t, metrics, "lifecycle_mgr_maintenance_window_config_read_success"))
	moveTo("asia")
	s.BecomesReady("regional", "careful@1.1.0", "carefree@1.1.0")
	require.Empty(t, s.Kyma("regional").Status.LastOperation.Hint)
	require.Equal(t, "1.1.0", s.MinimalVersion(harness.RemoteNamespace, "careful"))
	module := s.Module("regional", "careful")
	require.False(t, module.Maintenance)
	require.Empty(t, module.Message)

	moveTo("us")
	s.PushModule(harness.MinimalModule{Name: "careful", Version: "1.2.0", Channels: "regular", Config: "requiresDowntime: true"})
	s.Eventually("the next version waits again", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.Module("regional", "careful").Maintenance)
	})
	writePolicy(t, policy, time.Now().Add(-time.Hour))
	s.BecomesReady("regional", "careful@1.2.0", "carefree@1.1.0")
}

// generatedPolicy is what upstream's script writes at a time: a window that is open, one that is open tomorrow, and no default.
func generatedPolicy(now time.Time) string {
	at := func(after time.Duration) string { return now.Add(after).Format(time.RFC3339) }
	return fmt.Sprintf(`{
  "rules": [
    {"match": {"region": "asia"}, "windows": [{"begin": %q, "end": %q}]},
    {"match": {"region": "europe"}, "windows": [{"begin": %q, "end": %q}]}
  ],
  "default": {}
}
`, at(0), at(2*time.Hour), at(24*time.Hour), at(26*time.Hour))
}

// writePolicy makes a policy with one window of six hours for all Kymas, replaced as a mounted ConfigMap is.
func writePolicy(t *testing.T, path string, begin time.Time) {
	t.Helper()
	content := fmt.Sprintf(`{"rules":[],"default":{"begin":%q,"end":%q}}`,
		begin.UTC().Format(time.RFC3339), begin.Add(6*time.Hour).UTC().Format(time.RFC3339))
	replacePolicy(t, path, content)
}

// replacePolicy changes the policy as the kubelet does a mounted ConfigMap.
func replacePolicy(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}
