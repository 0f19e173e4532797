package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// record is what is shown of a record of `make scale`.
type record struct {
	// Name is that of the file.
	Name      string `json:"-"`
	StartedAt string `json:"startedAt"`
	Commit    string `json:"commit"`
	Manager   string `json:"manager"`
	Machine   struct {
		OS     string `json:"os"`
		CPU    string `json:"cpu"`
		Cores  int    `json:"cores"`
		Memory int64  `json:"memoryMiB"`
	} `json:"machine"`
	Scenario string `json:"scenario"`
	Clusters int    `json:"clusters"`
	Modules  int    `json:"modules"`
	Objects  int    `json:"objects"`
	Workers  int    `json:"workers"`
	Latency  string `json:"latency"`
	Temporal struct {
		Store  string `json:"store"`
		Shards int    `json:"shards"`
		Note   string `json:"note"`
	} `json:"temporal"`
	Phases []phase `json:"phases"`
}

// phase is what is shown of a phase.
type phase struct {
	Name      string             `json:"name"`
	Kymas     int                `json:"kymas"`
	Seconds   float64            `json:"seconds"`
	PerSecond float64            `json:"kymasPerSecond"`
	Latencies map[string]latency `json:"latencySeconds"`
	Processes map[string]process `json:"processes"`
	Control   map[string]float64 `json:"controlPlaneRequests"`
	Remote    map[string]float64 `json:"remoteRequests"`
	Database  struct {
		Bytes float64 `json:"bytes"`
		Grown float64 `json:"grownBytes"`
	} `json:"database"`
	Failed []string `json:"failed"`
}

// latency is in seconds.
type latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// process is what one process used.
type process struct {
	CPU    float64 `json:"cpuMsPerKyma"`
	Memory float64 `json:"maxMemoryMiB"`
}

// readRecords reads files, in their order.
func readRecords(files []string) ([]record, error) {
	records := make([]record, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		one := record{Name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("read the record %s: %w", file, err)
		}
		records = append(records, one)
	}
	return records, nil
}

// phaseNames are the names of all phases, in their order.
func phaseNames(records []record) []string {
	var names []string
	known := map[string]bool{}
	for _, r := range records {
		for _, p := range r.Phases {
			if !known[p.Name] {
				names, known[p.Name] = append(names, p.Name), true
			}
		}
	}
	return names
}

// phase is a record's phase of this name; one that it does not have is empty.
func (r record) phase(name string) phase {
	for _, p := range r.Phases {
		if p.Name == name {
			return p
		}
	}
	return phase{Name: name}
}
