package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// record is what was measured.
type record struct {
	StartedAt time.Time `json:"startedAt"`
	// Commit is that of the tree, with a + behind it where files were changed; Manager what the measured program says of itself.
	Commit     string       `json:"commit"`
	Manager    string       `json:"manager"`
	Machine    machine      `json:"machine"`
	Scenario   string       `json:"scenario"`
	Flags      []string     `json:"managerFlags,omitempty"`
	Clusters   int          `json:"clusters"`
	Modules    int          `json:"modules"`
	Objects    int          `json:"objects"`
	Workers    int          `json:"workers"`
	Latency    string       `json:"latency"`
	ReadyAfter string       `json:"readyAfter"`
	Temporal   temporalInfo `json:"temporal"`
	Phases     []phase      `json:"phases"`
}

// phase is what was measured of one part of the scenario.
type phase struct {
	Name string `json:"name"`
	// Kymas is how many the work was on; where there was no work, how many there are.
	Kymas   int     `json:"kymas"`
	Seconds float64 `json:"seconds"`
	// PerSecond is how many Kymas were done per second.
	PerSecond float64 `json:"kymasPerSecond"`
	// Latencies are how long Kymas took ("kymas"), edits ("edits"), or those after a fault ("recovered"): each from the time
	// when its work was asked for.
	Latencies map[string]latency `json:"latencySeconds,omitempty"`
	// Processes are by name; children count for their parents.
	Processes map[string]processUse `json:"processes"`
	Machine   machineUse            `json:"machine"`
	// ControlPlane are the requests to the control plane, those of this program among them, and Remote those to the remote
	// clusters.
	ControlPlane requests `json:"controlPlaneRequests"`
	Remote       requests `json:"remoteRequests"`
	Database     database `json:"database"`
	// Histories are by the type of workflow, of a sample of Kymas, from the beginning on.
	Histories map[string]history `json:"histories,omitempty"`
	// Failed says which limits of the scenario were exceeded.
	Failed []string `json:"failed,omitempty"`
}

// processUse is what a process has used in a phase.
type processUse struct {
	CPU float64 `json:"cpuMs"`
	// CPUPerKyma is in ms.
	CPUPerKyma float64 `json:"cpuMsPerKyma"`
	// Cores is how many were busy with it on average.
	Cores float64 `json:"cores"`
	// Memory is at the end and MaxMemory the most that was seen, which was looked for every two seconds; both in MiB.
	Memory    int64 `json:"memoryMiB"`
	MaxMemory int64 `json:"maxMemoryMiB"`
}

// machineUse says whether the machine was the limit.
type machineUse struct {
	// Busy is how many cores were busy on average, with whatever it was; Waiting how many waited for a disk.
	Busy    float64 `json:"busyCores"`
	Waiting float64 `json:"waitingForDiskCores"`
}

// latency is how long things took, in seconds.
type latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// latencyOf sums times up.
func latencyOf(took []time.Duration) latency {
	if len(took) == 0 {
		return latency{}
	}
	sorted := slices.Sorted(slices.Values(took))
	return latency{
		Count: len(sorted), P50: percentile(sorted, 50), P90: percentile(sorted, 90), P99: percentile(sorted, 99),
		Max: round(sorted[len(sorted)-1].Seconds()),
	}
}

// percentile is the shortest of these times within which so many percent of all were, in seconds.
func percentile(sorted []time.Duration, percent int) float64 {
	rank := (len(sorted)*percent + 99) / 100
	return round(sorted[max(rank, 1)-1].Seconds())
}

func round(f float64) float64 { return math.Round(f*100) / 100 }

// write writes the record as JSON, to standard output without a path.
func (r *record) write(path string) error {
	var to io.Writer = os.Stdout
	if path != "" {
		file, err := os.Create(filepath.Clean(path))
		if err != nil {
			return fmt.Errorf("write the record: %w", err)
		}
		defer func() { _ = file.Close() }()
		to = file
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// readRecord reads a record from a file.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	read := &record{}
	if err := json.Unmarshal(text, read); err != nil {
		return nil, fmt.Errorf("read the record %s: %w", path, err)
	}
	return read, nil
}
