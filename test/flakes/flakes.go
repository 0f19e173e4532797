package main

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// event is one of the events of `go test -json`, as `go doc test2json` describes them.
type event struct {
	Action, Package, Test, Output string
}

// flake is a test that failed first and passed when it was run again.
type flake struct {
	test string
	// failure is what the first failure said, on one line.
	failure string
}

// find returns the flakes of one run, in the order in which they failed first.
func find(events io.Reader) ([]flake, error) {
	type key struct{ pkg, test string }
	outputs := map[key]string{}
	failures := map[key]string{}
	var order []key
	passed := map[key]bool{}
	decoder := json.NewDecoder(events)
	for {
		var e event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if e.Test == "" {
			continue
		}
		root, _, _ := strings.Cut(e.Test, "/")
		k := key{e.Package, root}
		switch e.Action {
		case "output":
			outputs[k] += e.Output
		case "fail":
			if _, again := failures[k]; !again && e.Test == root {
				failures[k] = failureIn(outputs[k])
				order = append(order, k)
			}
		case "pass":
			if _, failed := failures[k]; failed && e.Test == root {
				passed[k] = true
			}
		}
	}
	var flakes []flake
	for _, k := range order {
		if passed[k] {
			flakes = append(flakes, flake{test: k.test, failure: failures[k]})
		}
	}
	return flakes, nil
}

// failureIn is what a failed test's output says of its first failure: the assertion's error with its details, else the
// last line that is no result of a test.
func failureIn(output string) string {
	const most = 400
	lines := strings.Split(output, "\n")
	said, last := []string{}, "it said nothing"
	for _, line := range lines {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "Error:"):
			said = append(said, strings.TrimSpace(strings.TrimPrefix(text, "Error:")))
		case len(said) > 0 && (strings.HasPrefix(text, "Test:") || strings.HasPrefix(text, "Messages:")):
			return cut(strings.Join(said, " "), most)
		case len(said) > 0 && text != "":
			said = append(said, text)
		case text != "" && !strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "==="):
			last = text
		}
	}
	if len(said) > 0 {
		last = strings.Join(said, " ")
	}
	return cut(last, most)
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
