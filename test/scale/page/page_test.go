package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const one = `{"commit": "abc", "scenario": "default", "clusters": 50, "workers": 1, "temporal": {"store": "postgres", "shards": 128},
"phases": [
 {"name": "install", "kymas": 50, "seconds": 10, "kymasPerSecond": 5, "latencySeconds": {"kymas": {"p50": 1, "p90": 2, "p99": 3}},
  "processes": {"etcd": {"cpuMsPerKyma": 4, "maxMemoryMiB": 100}, "postgres": {"cpuMsPerKyma": 8, "maxMemoryMiB": 200}},
  "controlPlaneRequests": {"GET kymas": 100}, "remoteRequests": {"get secrets": 50}, "database": {"bytes": 1000, "grownBytes": 512}},
 {"name": "idle", "kymas": 50, "seconds": 60, "failed": ["remoteWrites: 1, at most 0 expected"]}
]}`

func TestEachPhaseIsDrawn(t *testing.T) {
	folder := t.TempDir()
	a, b, out := filepath.Join(folder, "a.json"), filepath.Join(folder, "b.json"), filepath.Join(folder, "page.html")
	require.NoError(t, os.WriteFile(a, []byte(one), 0o600))
	require.NoError(t, os.WriteFile(b, []byte(strings.ReplaceAll(one, "install", "<b>install</b>")), 0o600))
	require.NoError(t, run(out, folder, []string{a, b}))
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	text := string(written)
	require.Equal(t, 12, strings.Count(text, "<svg"), "six figures of each of the two phases in which something was done")
	require.Contains(t, text, "<h2>install</h2>")
	require.Contains(t, text, "<h2>&lt;b&gt;install&lt;/b&gt;</h2>", "what a file says is text")
	require.Contains(t, text, "b: remoteWrites: 1, at most 0 expected")
	require.Contains(t, text, "postgres, 128 shards")

	chart, err := os.ReadFile(filepath.Join(folder, "install-processor-time-per-kyma.svg"))
	require.NoError(t, err)
	require.Contains(t, text, string(chart), "the same in a file of its own")
}

func TestWhatOnlyOneRecordHasIsMissingInTheOther(t *testing.T) {
	phases := []phase{
		{Processes: map[string]process{"etcd": {CPU: 1}, "temporal": {CPU: 2}}},
		{Processes: map[string]process{"etcd": {CPU: 3}, "postgres": {CPU: 4}, "registry": {}}},
	}
	all := byKey(phases, func(p phase) map[string]float64 {
		values := map[string]float64{}
		for name, used := range p.Processes {
			values[name] = used.CPU
		}
		return values
	})
	require.Equal(t, []series{{"etcd", []float64{1, 3}}, {"postgres", []float64{0, 4}}, {"temporal", []float64{2, 0}}}, all)
}

func TestWithoutARecordNothingIsDrawn(t *testing.T) {
	require.ErrorContains(t, run(filepath.Join(t.TempDir(), "page.html"), "", nil), "no record")
}
