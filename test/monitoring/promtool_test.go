package monitoring

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// promtool runs it and fails the test where it does. Without it, where `make test` does not say that it must be there, the
// test is skipped.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program := os.Getenv("PROMTOOL")
	if program == "" {
		require.Empty(t, os.Getenv("LM_TEST_REQUIRE_FLEET"), "PROMTOOL is not set: test/run says where it is")
		t.Skip("needs promtool: PROMTOOL=$(make promtool | tail -n 1)")
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", strings.Join(args, " "), out)
}
