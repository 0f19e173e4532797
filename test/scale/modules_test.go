package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANewVersionChangesThreeObjectsOfAModule(t *testing.T) {
	was := strings.Split(moduleManifest("module-aaa", "1.0.0", 10), "---\n")
	is := strings.Split(moduleManifest("module-aaa", "1.1.0", 10), "---\n")
	require.Len(t, was, 10)
	require.Len(t, is, 10)
	changed := 0
	for i := range was {
		if was[i] != is[i] {
			changed++
		}
	}
	require.Equal(t, 3, changed)
}

func TestModulesHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for m := range 100 {
		require.Regexp(t, `^[a-z]{3,}(-[a-z]{3,})+$`, moduleName(m))
		names[moduleName(m)] = true
	}
	require.Len(t, names, 100)
}
