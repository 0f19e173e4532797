package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What many clusters cost at once shows only where there are many. The scenario ci has the limits.
func TestASmallFleetCostsNoMoreThanItMay(t *testing.T) {
	if os.Getenv("LM_TEST_REQUIRE_FLEET") == "" {
		t.Skip("it brings up a control plane and fake clusters: make test does")
	}
	record := filepath.Join(t.TempDir(), "record.json")
	t.Chdir(filepath.Join("..", ".."))
	require.NoError(t, command(t.Context(), []string{"-clusters", "50", "-scenario", "ci", "-temporal-store", "sqlite", "-out", record}))
	require.FileExists(t, record)
}
