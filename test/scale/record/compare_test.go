package record

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func sampleRecord(commit string, cpu float64) *Record {
	return &Record{
		Commit: commit, Scenario: "default", Clusters: 4, Modules: 1, Objects: 10, Workers: 1,
		Machine: Machine{Core: 2, CPU: "some"}, Temporal: Temporal{Store: "postgres", Shards: 128},
		Phases: []Phase{{
			Name: "install", Kymas: 4, Seconds: 2, PerSecond: 2, Latencies: map[string]Latency{"kymas": {Count: 4, P50: 1, P90: 1.5, P99: 2, Max: 2}},
			Processes:    map[string]ProcessUse{"etcd": {CPU: 4 * cpu, CPUPerKyma: cpu, Memory: 100, MaxMemory: 120}},
			ControlPlane: Requests{"GET kymas": 8, "PUT kymas": 12}, Remote: Requests{"patch deployments.apps": 4},
			Database: Database{Bytes: 1 << 20, Grown: 8192, Transactions: 400},
		}},
	}
}

func TestTwoRecordsAreATable(t *testing.T) {
	a, b := sampleRecord("one", 10), sampleRecord("other", 15)
	b.Phases[0].Processes["postgres"] = ProcessUse{CPUPerKyma: 7}
	b.Phases[0].Histories = map[string]History{"Kyma": {Events: 33}}
	b.Phases = append(b.Phases, Phase{Name: "only in one of them"})
	table := table(a, b)
	for _, line := range []string{
		"| | A | B | B/A |",
		"| commit | one | other | |",
		"| Temporal's store | postgres, 128 shards | postgres, 128 shards | |",
		"| **install** | 4 Kymas | 4 Kymas | |",
		"| kymas, p90, s | 1.5 | 1.5 | 1.00 |",
		"| processor time per Kyma, etcd, ms | 10 | 15 | 1.50 |",
		"| processor time per Kyma, postgres, ms |  | 7 |  |",
		"| requests to the control plane per Kyma | 5 | 5 | 1.00 |",
		"| … that write | 3 | 3 | 1.00 |",
		"| growth of Temporal's database per Kyma, KiB | 2 | 2 | 1.00 |",
		"| events of a Kyma so far |  | 33 |  |",
	} {
		require.Contains(t, table, line+"\n")
	}
	require.NotContains(t, table, "only in one of them")
}

func TestCompareReadsTwoFiles(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, Compare(&out, []string{"one.json"}), "two records")
	path := filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, sampleRecord("one", 10).Write(path))
	require.NoError(t, Compare(&out, []string{path, path}))
	require.Contains(t, out.String(), "| commit | one | one | |")
	require.ErrorContains(t, Compare(&out, []string{path, path + ".not"}), "no such file")
}
