package main

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// series are the values of one name, one for each record.
type series struct {
	name   string
	values plotter.Values
}

// chart is a bar chart with a group of bars, or one bar of parts, for each record.
type chart struct {
	title, unit string
	// stacked puts the series on top of each other.
	stacked bool
	series  []series
}

// charts are those of a phase. What is 0 everywhere is omitted.
func charts(records []record, name string) []chart {
	phases := make([]phase, 0, len(records))
	for _, r := range records {
		phases = append(phases, r.phase(name))
	}
	processes := func(use func(process) float64) []series {
		return byKey(phases, func(p phase) map[string]float64 {
			values := map[string]float64{}
			for process, used := range p.Processes {
				values[process] = use(used)
			}
			return values
		})
	}
	all := []chart{
		{title: "Processor time per Kyma", unit: "ms", stacked: true, series: processes(func(p process) float64 { return p.CPU })},
		{title: "Latency", unit: "s", series: latencies(phases)},
		{title: "Throughput", unit: "Kymas/s", series: single(phases, "Kymas per second", func(p phase) float64 { return p.PerSecond })},
		{title: "Most memory", unit: "MiB", stacked: true, series: processes(func(p process) float64 { return p.Memory })},
		{title: "Requests per Kyma", unit: "requests", series: slices.Concat(
			single(phases, "to the control plane", func(p phase) float64 { return perKyma(p, sum(p.Control)) }),
			single(phases, "to the remote cluster", func(p phase) float64 { return perKyma(p, sum(p.Remote)) }),
		)},
		{title: "Growth of Temporal's database per Kyma", unit: "KiB", series: single(phases, "growth", func(p phase) float64 { return perKyma(p, p.Database.Grown/1024) })},
	}
	return slices.DeleteFunc(all, func(c chart) bool { return len(c.series) == 0 })
}

func latencies(phases []phase) []series {
	return byKey(phases, func(p phase) map[string]float64 {
		values := map[string]float64{}
		for what, l := range p.Latencies {
			// In this order by name as well.
			values[what+" p50"], values[what+" p90"], values[what+" p99"] = l.P50, l.P90, l.P99
		}
		return values
	})
}

func single(phases []phase, name string, value func(phase) float64) []series {
	return byKey(phases, func(p phase) map[string]float64 { return map[string]float64{name: value(p)} })
}

// byKey makes a series of each key, sorted, that is not 0 in all phases.
func byKey(phases []phase, values func(phase) map[string]float64) []series {
	found := map[string]plotter.Values{}
	for i, p := range phases {
		for key, value := range values(p) {
			if value != 0 && found[key] == nil {
				found[key] = make(plotter.Values, len(phases))
			}
			if value != 0 {
				found[key][i] = value
			}
		}
	}
	all := make([]series, 0, len(found))
	for key, values := range found {
		all = append(all, series{key, values})
	}
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.name, b.name) })
	return all
}

func perKyma(p phase, value float64) float64 { return value / float64(max(1, p.Kymas)) }

func sum(values map[string]float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}

// svg draws the chart, with one group of bars for each of these names.
func (c chart) svg(names []string) (template.HTML, error) {
	const height = 3 * vg.Inch
	width := vg.Length(3+len(names)) * vg.Inch
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.Y.Min = c.title, c.unit, 0
	p.Legend.Top = true
	p.Legend.TextStyle.Font.Size = vg.Points(8)
	p.X.Min, p.X.Max = -0.5, float64(len(names))+0.5 // room for the legend
	p.NominalX(names...)
	bar := vg.Points(36)
	if !c.stacked {
		bar = vg.Points(48) / vg.Length(len(c.series))
	}
	var below *plotter.BarChart
	for i, s := range c.series {
		bars, err := plotter.NewBarChart(s.values, bar)
		if err != nil {
			return "", fmt.Errorf("draw %s: %w", c.title, err)
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(i), 0
		switch {
		case !c.stacked:
			bars.Offset = bar * (vg.Length(i) - vg.Length(len(c.series)-1)/2)
		case below != nil:
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(s.name, bars)
	}
	p.X.Max = float64(len(names)) + 0.5
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	var drawn bytes.Buffer
	if _, err := canvas.WriteTo(&drawn); err != nil {
		return "", fmt.Errorf("draw %s: %w", c.title, err)
	}
	// Within a page, without the declaration of a file.
	text := drawn.String()
	if at := strings.Index(text, "<svg"); at > 0 {
		text = text[at:]
	}
	return template.HTML(text), nil //nolint:gosec // drawn by us
}
