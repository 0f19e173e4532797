package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// dashboard is what is drawn of a dashboard: its panels as the chart has them, each with the answers to its expressions.
type dashboard struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Title       string `json:"title"`
	Type        string `json:"type"`
	FieldConfig struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
			Thresholds struct {
				Steps []step `json:"steps"`
			} `json:"thresholds"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
	Transformations []struct {
		Options struct {
			RenameByName map[string]string `json:"renameByName"`
		} `json:"options"`
	} `json:"transformations"`
	// Answers are those to the expressions of the targets: of a panel with numbers or a table the last values.
	Answers []model.Matrix `json:"answers"`
}

// step is the colour from a value on; without a value, the first.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

func readDashboard(path string) (dashboard, error) {
	var read dashboard
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return read, fmt.Errorf("read the answers: %w", err)
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return read, fmt.Errorf("read the answers in %s: %w", path, err)
	}
	return read, nil
}

// numbers are the panels with one number each.
func (d dashboard) numbers() []panel {
	return slices.DeleteFunc(slices.Clone(d.Panels), func(p panel) bool { return p.Type != "stat" })
}

// panel is the one with this title that is no number.
func (d dashboard) panel(title string) (panel, error) {
	for _, p := range d.Panels {
		if p.Title == title && p.Type != "stat" {
			return p, nil
		}
	}
	return panel{}, fmt.Errorf("there is no panel %q", title)
}

// line is a series with its name in the legend.
type line struct {
	name   string
	labels model.Metric
	values []model.SamplePair
}

// lines are all series of a panel by their names. What is no number is omitted.
func (p panel) lines() []line {
	var all []line
	for i, answer := range p.Answers {
		for _, series := range answer {
			values := slices.DeleteFunc(slices.Clone(series.Values), func(s model.SamplePair) bool { return s.Value != s.Value }) //nolint:gocritic // it is not equal to itself
			if len(values) > 0 {
				name := cmp.Or(legend(p.Targets[i].LegendFormat, series.Metric), "(none)")
				all = append(all, line{name, series.Metric, values})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return all
}

// last is the newest value.
func (l line) last() float64 { return float64(l.values[len(l.values)-1].Value) }

var placeholder = regexp.MustCompile(`{{ *(\w+) *}}`)

// legend puts the labels of a series into a format such as `{{state}}`.
func legend(format string, labels model.Metric) string {
	return placeholder.ReplaceAllStringFunc(format, func(found string) string {
		return string(labels[model.LabelName(placeholder.FindStringSubmatch(found)[1])])
	})
}

// columns are the labels that a table shows, in their order, with the names that it gives them; the last is the value.
func (p panel) columns() (labels []model.LabelName, names []string) {
	rename := map[string]string{}
	for _, transformation := range p.Transformations {
		maps.Copy(rename, transformation.Options.RenameByName)
	}
	for _, label := range slices.Sorted(maps.Keys(rename)) {
		if label != "Value" {
			labels, names = append(labels, model.LabelName(label)), append(names, rename[label])
		}
	}
	return labels, append(names, rename["Value"])
}

// color is the name of the colour that a value has.
func (p panel) color(value float64) string {
	name := ""
	for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value == nil || value >= *step.Value {
			name = step.Color
		}
	}
	return name
}

// format writes a value in a unit of Grafana's.
func format(value float64, unit string) string {
	switch unit {
	case "percentunit":
		return trimmed(value*100) + " %"
	case "s":
		if value < 1 && value > 0 {
			return trimmed(value*1000) + " ms"
		}
		return trimmed(value) + " s"
	case "bytes":
		for _, name := range []string{"B", "KiB", "MiB"} {
			if value < 1024 {
				return trimmed(value) + " " + name
			}
			value /= 1024
		}
		return trimmed(value) + " GiB"
	case "cps":
		return trimmed(value) + "/s"
	default:
		return trimmed(value)
	}
}

// trimmed has three digits that count.
func trimmed(value float64) string {
	digits := 0
	for size := value; digits < 3 && size < 100 && size > -100 && value != 0; digits++ {
		size *= 10
	}
	text := fmt.Sprintf("%.*f", digits, value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
