package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentilesAreTimesThatOccurred(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Second)
	}
	require.Equal(t, latency{Count: 200, P50: 100, P90: 180, P99: 198, Max: 200}, latencyOf(took))
	require.Equal(t, latency{Count: 1, P50: 1.5, P90: 1.5, P99: 1.5, Max: 1.5}, latencyOf([]time.Duration{1500 * time.Millisecond}))
	require.Equal(t, latency{}, latencyOf(nil))
}

func TestWhatAProcessUsedIsReadFromItsLine(t *testing.T) {
	line := "42 (a ) name) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 20 10 20 0 9 0 100 1000000 25 18446744073709551615 1 1"
	one, known := parseStat([]byte(line))
	require.True(t, known)
	require.Equal(t, 7, one.parent)
	require.Equal(t, 2*time.Second, one.own)
	require.Equal(t, 300*time.Millisecond, one.ended)
	require.Equal(t, int64(25*os.Getpagesize()), one.resident)
	_, known = parseStat([]byte("42 (gone"))
	require.False(t, known)
}

func TestTheLoadOfTheMachineIsThatOfAllCores(t *testing.T) {
	require.Equal(t, load{busy: 21 * time.Second, waiting: 5 * time.Second}, parseLoad("cpu  1000 200 600 40000 500 100 200 0 0 0"))
	require.Equal(t, load{}, parseLoad("cpu"))
}

func TestTheNewestPostgresComesFirst(t *testing.T) {
	require.Equal(t, []string{"/p/17/bin", "/p/15/bin", "/p/9/bin"}, newestFirst([]string{"/p/15/bin", "/p/9/bin", "/p/17/bin"}))
}

func TestWithoutPostgresTheFiguresAreNoneOfCapacity(t *testing.T) {
	store, _, err := chooseStore(storeSQLite, "")
	require.NoError(t, err)
	require.Equal(t, storeSQLite, store)
	_, _, err = chooseStore(storePostgres, t.TempDir())
	require.ErrorContains(t, err, "initdb, postgres and psql")
	_, _, err = chooseStore("", t.TempDir())
	require.Error(t, err, "a folder that was asked for is not passed over in silence")
	_, _, err = chooseStore("mysql", "")
	require.ErrorContains(t, err, "want postgres or sqlite")
}

func TestADatabaseThatWasLostCountsFromItsBeginning(t *testing.T) {
	before := database{Bytes: 100, Transactions: 50, Rows: 20}
	require.Equal(t, database{Bytes: 130, Grown: 30, Transactions: 5, Rows: 2}, database{Bytes: 130, Transactions: 55, Rows: 22}.since(before))
	require.Equal(t, database{Bytes: 60, Grown: -40, Transactions: 7, Rows: 3}, database{Bytes: 60, Transactions: 7, Rows: 3}.since(before))
}

func TestHistoriesOfAllRunsOfAWorkflowAreTakenTogether(t *testing.T) {
	require.Equal(t, map[string]history{
		"Kyma":     {Workflows: 2, Runs: 1.5, Events: 30, Most: 40, Bytes: 300},
		"Manifest": {Workflows: 1, Runs: 3, Events: 9, Most: 9, Bytes: 90},
	}, sumUp(map[string]past{
		"kyma/a":     {kind: "Kyma", runs: 1, events: 20, bytes: 200},
		"kyma/b":     {kind: "Kyma", runs: 2, events: 40, bytes: 400},
		"manifest/c": {kind: "Manifest", runs: 3, events: 9, bytes: 90},
	}))
}

func TestARecordThatWasWrittenCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	was := sampleRecord("one", 10)
	require.NoError(t, was.write(path))
	is, err := readRecord(path)
	require.NoError(t, err)
	require.Equal(t, was, is)
	require.NoError(t, is.verdict())
	is.Phases[0].Failed = []string{"remoteWrites: 1, at most 0 expected"}
	require.ErrorIs(t, is.verdict(), errExpected)
}
