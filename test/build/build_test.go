package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyKnownProgramsAreBuilt(t *testing.T) {
	picked, err := pick(programs("bin", "", ""), []string{"module", "fleet"})
	require.NoError(t, err)
	require.Equal(t, []string{"module", "fleet"}, namesOf(picked))

	_, err = pick(programs("bin", "", ""), []string{"modul"})
	require.EqualError(t, err, `no program is called "modul": there are demo, fleet, sample-operator, agent, lifecycle-manager, memfleet, cert-manager, module, modules, previous`)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// Some targets of make give the version and others do not: where that made two programs, each linked the other's away.
func TestTheVersionThatAProgramHasAnywayMakesNoOtherProgram(t *testing.T) {
	require.Equal(t, programs("bin", "", ""), programs("bin", "0.0.0-dev", "0123456789ab"), "and each commit would be another")
	require.NotEqual(t, programs("bin", "", ""), programs("bin", "1.2.3", ""))
	require.NotEqual(t, programs("bin", "1.2.3", "0123456789ab"), programs("bin", "1.2.3", ""))
	source, err := os.ReadFile("../../cmd/lifecycle-manager/version.go")
	require.NoError(t, err)
	require.Contains(t, string(source), "version = \"0.0.0-dev\"")
}
