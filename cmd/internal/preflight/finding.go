// Package preflight finds out whether Lifecycle Manager has all that it needs: at start, where a process refuses what can
// only go wrong later (Start), and for people before and after the installation (Check). What is found is read first
// (Facts) and judged then (Judge), which asks nobody.
package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Result is how a finding is.
type Result string

// Results.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "failed"
)

// Finding is what was found about one subject.
type Finding struct {
	Subject string `json:"subject"`
	Result  Result `json:"result"`
	Message string `json:"message"`
	// Remedy is what can be done about it; empty where nothing need be.
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

// Report is all that was found.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// NewReport is a report of findings; it is OK where none failed.
func NewReport(findings []Finding) Report {
	failed := slices.ContainsFunc(findings, func(f Finding) bool { return f.Result == Failed })
	return Report{OK: !failed, Findings: findings}
}

// Count is how many findings have a result.
func (r Report) Count(result Result) int {
	count := 0
	for _, finding := range r.Findings {
		if finding.Result == result {
			count++
		}
	}
	return count
}

// WriteJSON writes the report for machines.
func (r Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes a line for each finding, and below it what can be done.
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
