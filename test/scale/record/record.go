// Package record is what a run of make scale measured, as JSON ([Record]): write and [Read] it, [Compare] two, and check a
// phase against [Limits]. It only has data; the program scale measures. Names of fields in JSON never change, as published
// records (docs/scale) have them.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Record is what was measured.
type Record struct {
	StartedAt time.Time `json:"startedAt"`
	// Commit is that of the tree, with a + behind it where files were changed; Manager what the measured program says
	// of itself.
	Commit     string   `json:"commit"`
	Manager    string   `json:"manager"`
	Machine    Machine  `json:"machine"`
	Scenario   string   `json:"scenario"`
	Flags      []string `json:"managerFlags,omitempty"`
	Clusters   int      `json:"clusters"`
	Modules    int      `json:"modules"`
	Objects    int      `json:"objects"`
	Workers    int      `json:"workers"`
	Latency    string   `json:"latency"`
	ReadyAfter string   `json:"readyAfter"`
	// ReadySpread is how much later than ReadyAfter a Deployment was available at most.
	ReadySpread string   `json:"readySpread"`
	Temporal    Temporal `json:"temporal"`
	Phases      []Phase  `json:"phases"`
}

// Phase is what was measured of one part of the scenario.
type Phase struct {
	Name string `json:"name"`
	// Kymas is how many the work was on; where there was no work, how many there are.
	Kymas   int     `json:"kymas"`
	Seconds float64 `json:"seconds"`
	// PerSecond is how many Kymas were done per second.
	PerSecond float64 `json:"kymasPerSecond"`
	// Latencies are how long Kymas took ("kymas"), edits ("edits"), or those after a fault ("recovered"): each from the time
	// when its work was asked for.
	Latencies map[string]Latency `json:"latencySeconds,omitempty"`
	// Processes are by name; children count for their parents.
	Processes map[string]ProcessUse `json:"processes"`
	Machine   MachineUse            `json:"machine"`
	// ControlPlane are the requests to the control plane, those of this program among them, and Remote those to the remote
	// clusters.
	ControlPlane Requests `json:"controlPlaneRequests"`
	Remote       Requests `json:"remoteRequests"`
	Database     Database `json:"database"`
	// Histories are by the type of workflow, of a sample of Kymas, from the beginning on.
	Histories map[string]History `json:"histories,omitempty"`
	// Rollout is what became of a rollout in stages.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Failed says which limits of the scenario were exceeded.
	Failed []string `json:"failed,omitempty"`
}

// Rollout is what became of a rollout in stages.
type Rollout struct {
	// Phase is how it ended, or that it is held.
	Phase string `json:"phase"`
	// Seconds is from its first release until then; the control plane's times have no fractions.
	Seconds float64 `json:"seconds"`
	// Stages are how many clusters each stage had, and Released how many of all had been released by then.
	Stages   []int `json:"stages"`
	Released int   `json:"released"`
	// History is that of its workflow.
	History History `json:"history"`
	// FromThirdFailure is from when three clusters had failed until it was held, in seconds without fractions; FailedByThen is
	// how many had failed by then.
	FromThirdFailure *float64 `json:"secondsFromThirdFailure,omitempty"`
	FailedByThen     int      `json:"failedByThen,omitempty"`
	// Kills is how many processes of Lifecycle Manager were killed meanwhile.
	Kills int `json:"kills,omitempty"`
}

// ProcessUse is what a process has used in a phase.
type ProcessUse struct {
	CPU float64 `json:"cpuMs"`
	// CPUPerKyma is in ms.
	CPUPerKyma float64 `json:"cpuMsPerKyma"`
	// Cores is how many were busy with it on average.
	Cores float64 `json:"cores"`
	// Memory is at the end and MaxMemory the most of what was read every two seconds; both in MiB.
	Memory    int64 `json:"memoryMiB"`
	MaxMemory int64 `json:"maxMemoryMiB"`
}

// MachineUse says whether the machine was the limit.
type MachineUse struct {
	// Busy is how many cores were busy on average, with whatever it was; Waiting how many waited for a disk.
	Busy    float64 `json:"busyCores"`
	Waiting float64 `json:"waitingForDiskCores"`
}

// Latency is how long things took, in seconds.
type Latency struct {
	Count int `json:"count"`
	// Min is missing in records from before 2026-12.
	Min float64 `json:"min,omitempty"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// LatencyOf sums times up.
func LatencyOf(took []time.Duration) Latency {
	if len(took) == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(took))
	return Latency{
		Count: len(sorted), Min: Round(sorted[0].Seconds()), P50: percentile(sorted, 50), P90: percentile(sorted, 90), P99: percentile(sorted, 99),
		Max: Round(sorted[len(sorted)-1].Seconds()),
	}
}

// percentile is the shortest of these times within which so many percent of all were, in seconds.
func percentile(sorted []time.Duration, percent int) float64 {
	rank := (len(sorted)*percent + 99) / 100
	return Round(sorted[max(rank, 1)-1].Seconds())
}

// Round rounds to two digits.
func Round(f float64) float64 { return math.Round(f*100) / 100 }

// Write writes the record as JSON, to standard output without a path.
func (r *Record) Write(path string) error {
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

// Read reads a record from a file.
func Read(path string) (*Record, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	read := &Record{}
	if err := json.Unmarshal(text, read); err != nil {
		return nil, fmt.Errorf("read the record %s: %w", path, err)
	}
	return read, nil
}

// errExpected says that a limit was exceeded.
var errExpected = errors.New("more than the scenario expects")

// Verdict is an error where a phase exceeded a limit.
func (r *Record) Verdict() error {
	var all []error
	for _, p := range r.Phases {
		for _, failed := range p.Failed {
			all = append(all, fmt.Errorf("%s: %w: %s", p.Name, errExpected, failed))
		}
	}
	return errors.Join(all...)
}
