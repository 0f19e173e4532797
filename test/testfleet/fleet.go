// Package testfleet gives tests access to the local fleet that `make test` has brought up. Its addresses
// are in environment variables (see test/fleet/README.md). It imports nothing of ours, so that every test can
// use it; what tests share beyond that is in package harness.
package testfleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// required is set by `make test`: then a missing fleet is a failure.
const required = "LM_TEST_REQUIRE_FLEET"

// Require returns the value of the fleet's variable. Without a fleet the test is skipped, unless one is
// required, as in `make test`.
func Require(t testing.TB, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		if os.Getenv(required) != "" {
			t.Fatalf("%s is not set, but a fleet is required", variable)
		}
		t.Skipf("needs the local fleet (%s is not set), which `make test` and `make bench` bring up", variable)
	}
	return value
}

// fakeRemote is set where the variables of the remote clusters lead to fake ones (test/memfleet).
const fakeRemote = "LM_TEST_FAKE_REMOTE"

// NeedsRealRemote skips a test of something that no fake cluster does.
func NeedsRealRemote(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(fakeRemote) != "" {
		t.Skipf("the remote cluster is a fake one, which does not do it: %s (test/memfleet/README.md)", what)
	}
}

// Root is the root of the repository, around the working folder, which is a test's own package.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "test", "testfleet")); err == nil {
			return folder
		}
		require.NotEqual(t, filepath.Dir(folder), folder, "the working folder is in no repository")
	}
}

// Previous is the folder with the previous release's lifecycle-manager and chart (test/previous). If the history of this
// repository does not have that release, as in a shallow clone, the test is skipped, unless a fleet is required: `make test`
// promises that both builds were tried together.
func Previous(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(Root(t), "bin", "previous")
	if _, err := os.Stat(folder); err != nil {
		const missing = "bin/previous is missing: run `git fetch --unshallow --tags`, then `go run ./test/build previous`"
		if os.Getenv(required) != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return folder
}

// Binary is the path of a program that `make build` has made.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "bin", name)
	_, err := os.Stat(path)
	require.NoError(t, err, "run `make build` first")
	return path
}
