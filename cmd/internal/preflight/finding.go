// Package preflight checks that Lifecycle Manager has everything it needs.
//
//	Start           runs when a process starts, and refuses what could only fail later
//	Collect, Judge  run for `lifecycle-manager check`, before and after an installation
//
// Reading and judging are separate. Collect reads Facts from the control plane, Temporal, the registry and remote
// clusters. A failed read is a fact as well. Judge turns Facts into Findings and makes no requests, so it is tested
// without servers.
package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Result is the result of a finding.
type Result string

// Results.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "failed"
)

// Finding is the result of checking one subject.
type Finding struct {
	Subject string `json:"subject"`
	Result  Result `json:"result"`
	Message string `json:"message"`
	// Remedy is what can be done; empty if nothing need be done.
	Remedy string `json:"remedy,omitempty"`
}

func good(subject, format string, args ...any) Finding {
	return Finding{Subject: subject, Result: OK, Message: fmt.Sprintf(format, args...)}
}

func doubtful(subject, remedy, format string, args ...any) Finding {
	return Finding{Subject: subject, Result: Warning, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

func bad(subject, remedy, format string, args ...any) Finding {
	return Finding{Subject: subject, Result: Failed, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Report holds all findings.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// NewReport returns a report of findings. It is OK if none failed.
func NewReport(findings []Finding) Report {
	failed := slices.ContainsFunc(findings, func(f Finding) bool { return f.Result == Failed })
	return Report{OK: !failed, Findings: findings}
}

// Count returns the number of findings with a result.
func (r Report) Count(result Result) int {
	count := 0
	for _, finding := range r.Findings {
		if finding.Result == result {
			count++
		}
	}
	return count
}

// WriteJSON writes the report for programs.
func (r Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes a line for each finding, and its remedy below.
func (r Report) WriteText(out io.Writer) error {
	marks := map[Result]string{OK: "✔", Warning: "!", Failed: "✗"}
	for _, finding := range r.Findings {
		if _, err := fmt.Fprintf(out, "%s %s: %s\n", marks[finding.Result], finding.Subject, finding.Message); err != nil {
			return err
		}
		if finding.Remedy == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "    %s\n", finding.Remedy); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d ok, %d warnings, %d failed\n", r.Count(OK), r.Count(Warning), r.Count(Failed))
	return err
}
