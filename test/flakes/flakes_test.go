package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ran are the events of a test that ran once, in a subtest.
func ran(test, action, output string) []event {
	said := []event{{Action: "run", Package: "p", Test: test}}
	for line := range strings.Lines(output) {
		said = append(said, event{Action: "output", Package: "p", Test: test + "/in a subtest", Output: line})
	}
	return append(said, event{Action: action, Package: "p", Test: test + "/in a subtest"}, event{Action: action, Package: "p", Test: test})
}

func written(t *testing.T, runs ...[]event) string {
	t.Helper()
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	for _, events := range runs {
		for _, e := range events {
			require.NoError(t, encoder.Encode(e))
		}
	}
	path := filepath.Join(t.TempDir(), "events.json")
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o600))
	return path
}

const assertion = "=== RUN TestOdd\n    odd_test.go:7: \n\tError Trace:\todd_test.go:7\n\tError:      \tNot equal: \n\t            \texpected: 1\n\t            \tactual  : 2\n\tTest:       \tTestOdd\n"

func TestATestThatPassesWhenItIsRunAgainIsReportedWithItsFirstFailure(t *testing.T) {
	path := written(t, ran("TestEven", "pass", ""), ran("TestOdd", "fail", assertion), ran("TestOdd", "pass", ""))
	var out strings.Builder
	require.NoError(t, run([]string{path}, &out))
	require.Equal(t, "FLAKY: TestOdd, first failure: Not equal: expected: 1 actual  : 2\n", out.String())
}

func TestATestThatFailsAgainIsNoFlake(t *testing.T) {
	path := written(t, ran("TestOdd", "fail", assertion), ran("TestOdd", "fail", assertion))
	var out strings.Builder
	require.NoError(t, run([]string{path}, &out))
	require.Empty(t, out.String())
}

func TestMoreThanTwoFlakesInAllPartsTogetherFailTheRun(t *testing.T) {
	flaky := func(tests ...string) string {
		var runs [][]event
		for _, test := range tests {
			runs = append(runs, ran(test, "fail", "it timed out\n"), ran(test, "pass", ""))
		}
		return written(t, runs...)
	}
	var out strings.Builder
	require.NoError(t, run([]string{flaky("TestA"), flaky("TestB")}, &out))
	require.Equal(t, "FLAKY: TestA, first failure: it timed out\nFLAKY: TestB, first failure: it timed out\n", out.String())
	require.ErrorContains(t, run([]string{flaky("TestA", "TestB"), flaky("TestC")}, &out), "3 tests")
	require.Error(t, run([]string{filepath.Join(t.TempDir(), "missing")}, &out))
}
