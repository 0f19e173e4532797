package record

import (
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
	require.Equal(t, Latency{Count: 200, Min: 1, P50: 100, P90: 180, P99: 198, Max: 200}, LatencyOf(took))
	require.Equal(t, Latency{Count: 1, Min: 1.5, P50: 1.5, P90: 1.5, P99: 1.5, Max: 1.5}, LatencyOf([]time.Duration{1500 * time.Millisecond}))
	require.Equal(t, Latency{}, LatencyOf(nil))
}

func TestADatabaseThatWasLostCountsFromItsBeginning(t *testing.T) {
	before := Database{Bytes: 100, Transactions: 50, Rows: 20}
	require.Equal(t, Database{Bytes: 130, Grown: 30, Transactions: 5, Rows: 2}, Database{Bytes: 130, Transactions: 55, Rows: 22}.Since(before))
	require.Equal(t, Database{Bytes: 60, Grown: -40, Transactions: 7, Rows: 3}, Database{Bytes: 60, Transactions: 7, Rows: 3}.Since(before))
}

func TestARecordThatWasWrittenCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	was := sampleRecord("one", 10)
	require.NoError(t, was.Write(path))
	is, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, was, is)
	require.NoError(t, is.Verdict())
	is.Phases[0].Failed = []string{"remoteWrites: 1, at most 0 expected"}
	require.ErrorIs(t, is.Verdict(), errExpected)
}
