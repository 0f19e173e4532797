package main

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes within a panel.
const (
	rowHeight  = 15
	textSize   = 8.5
	swatchSize = 7
	mostInKey  = 8
)

// drawNumber draws the last value, in the colour that the thresholds give it.
func (p panel) drawNumber(place draw.Canvas) {
	shown, in := "no data", faint()
	if lines := p.lines(); len(lines) > 0 {
		value := lines[0].last()
		shown, in = format(value, p.FieldConfig.Defaults.Unit), named(p.color(value))
	}
	place.FillText(style(22, in), vg.Point{X: place.Min.X + inset, Y: place.Min.Y + 14}, shown)
}

// drawTable draws a row for each series: its labels, and its value.
func (p panel) drawTable(place draw.Canvas) {
	labels, names := p.columns()
	each := (place.Max.X - place.Min.X) / vg.Length(len(names))
	row := func(number int, cells []string, in color.Color) {
		for i, cell := range cells {
			at := vg.Point{X: place.Min.X + each*vg.Length(i), Y: place.Max.Y - vg.Length(number+1)*rowHeight + 4}
			place.FillText(style(textSize+1, in), at, clipped(style(textSize+1, in), cell, each-4))
		}
	}
	row(0, names, faint())
	lines := p.lines()
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(cellsOf(a, labels), cellsOf(b, labels)) })
	for i, l := range lines {
		if vg.Length(i+2)*rowHeight > place.Max.Y-place.Min.Y {
			break
		}
		var cells []string
		for _, label := range labels {
			cells = append(cells, string(l.labels[label]))
		}
		row(i+1, append(cells, format(l.last(), p.FieldConfig.Defaults.Unit)), ink())
	}
}

func cellsOf(l line, labels []model.LabelName) string {
	var all strings.Builder
	for _, label := range labels {
		all.WriteString(string(l.labels[label]) + "\x00")
	}
	return all.String()
}

// drawTimeline draws a bar for each time in which a series was 1.
func (p panel) drawTimeline(place draw.Canvas) {
	lines := slices.DeleteFunc(p.lines(), func(l line) bool {
		return !slices.ContainsFunc(l.values, func(s model.SamplePair) bool { return s.Value > 0 })
	})
	if len(lines) == 0 {
		return
	}
	const left = 130
	first, last := span(lines)
	at := func(t model.Time) vg.Length {
		return place.Min.X + left + (place.Max.X-place.Min.X-left)*vg.Length(float64(t-first)/float64(max(last-first, 1)))
	}
	bottom, in := place.Min.Y+rowHeight, colors(lines)
	each := min((place.Max.Y-bottom)/vg.Length(len(lines)), 22)
	for i, l := range lines {
		upper := place.Max.Y - each*vg.Length(i)
		place.FillText(style(textSize, ink()), vg.Point{X: place.Min.X, Y: upper - each/2 - 3}, clipped(style(textSize, ink()), l.name, left-6))
		for _, while := range l.positive() {
			fill(place, vg.Rectangle{Min: vg.Point{X: at(while[0]), Y: upper - each + 3}, Max: vg.Point{X: min(at(while[1]), place.Max.X), Y: upper - 3}}, in[i])
		}
	}
	for _, t := range []model.Time{first, first + (last-first)/2, last} {
		label := clock(t, first)
		size := style(textSize, faint()).Width(label)
		place.FillText(style(textSize, faint()), vg.Point{X: min(at(t)-size/2, place.Max.X-size), Y: place.Min.Y + 2}, label)
	}
}

// answerStep is the time between two values of an answer.
const answerStep = 2000 // milliseconds

// positive are the times between which the values are above 0, each value for one step.
func (l line) positive() (all [][2]model.Time) {
	for _, sample := range l.values {
		switch last := len(all) - 1; {
		case sample.Value <= 0:
		case last >= 0 && all[last][1] == sample.Timestamp:
			all[last][1] += answerStep
		default:
			all = append(all, [2]model.Time{sample.Timestamp, sample.Timestamp + answerStep})
		}
	}
	return all
}

// colors are those of lines: states have colours of their own, which nothing else beside them has.
func colors(lines []line) []color.Color {
	const none, blue, green, orange, red = -1, 0, 1, 2, 3
	states := map[string]int{"Processing": blue, "Ready": green, "Reachable": green, "Warning": orange, "Error": red}
	stateOf := func(l line) int {
		for state, is := range states {
			if strings.HasSuffix(l.name, state) {
				return is
			}
		}
		return none
	}
	all, next := make([]color.Color, len(lines)), 0
	if slices.ContainsFunc(lines, func(l line) bool { return stateOf(l) != none }) {
		next = red + 1
	}
	for i, l := range lines {
		if state := stateOf(l); state != none {
			all[i] = series(state)
			continue
		}
		all[i] = series(next)
		next++
	}
	return all
}

// drawSeries draws lines over time, on top of each other where the panel stacks them, and their names below.
func (p panel) drawSeries(place draw.Canvas) error {
	lines := p.lines()
	if len(lines) == 0 {
		place.FillText(style(textSize, faint()), vg.Point{X: place.Min.X, Y: place.Max.Y - rowHeight}, "no data")
		return nil
	}
	// Those that matter most have a name.
	slices.SortStableFunc(lines, func(a, b line) int { return -compareMost(a, b) })
	if len(lines) > mostInKey {
		lines = lines[:mostInKey]
	}
	first, last := span(lines)
	chart := plot.New()
	chart.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.Color, axis.Tick.Color = frame(), frame()
		axis.Tick.Label = withAlignment(style(textSize, faint()), axis.Tick.Label)
	}
	chart.X.Min, chart.X.Max, chart.Y.Min = 0, max(float64(last-first)/1000, 1), 0
	chart.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		var ticks []plot.Tick
		for i := range 5 {
			value := low + (high-low)*float64(i)/4
			ticks = append(ticks, plot.Tick{Value: value, Label: clock(first+model.Time(value*1000), first)})
		}
		return ticks
	})
	chart.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		var ticks []plot.Tick
		in := 1. // what bytes are counted in, so that labels are round
		for p.FieldConfig.Defaults.Unit == "bytes" && high/in > 2048 {
			in *= 1024
		}
		for _, tick := range (plot.DefaultTicks{}).Ticks(low/in, high/in) {
			if tick.Label != "" {
				ticks = append(ticks, plot.Tick{Value: tick.Value * in, Label: format(tick.Value*in, p.FieldConfig.Defaults.Unit)})
			}
		}
		return ticks
	})
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal.Color = 0, frame()
	chart.Add(grid)
	most, err := p.addLines(chart, lines, first)
	if err != nil {
		return err
	}
	if chart.Y.Max = most * 1.1; most == 0 {
		chart.Y.Max = 1
	}
	chart.Draw(draw.Crop(place, 0, 0, p.drawKey(place, lines), 0))
	return nil
}

// addLines adds the lines to a chart, and returns the greatest value.
func (p panel) addLines(chart *plot.Plot, lines []line, first model.Time) (most float64, err error) {
	below, in := map[model.Time]float64{}, colors(lines)
	if p.isStacked() {
		lines = withoutGaps(lines)
	}
	for i, l := range lines {
		var points, under plotter.XYs
		for _, sample := range l.values {
			x, y := float64(sample.Timestamp-first)/1000, float64(sample.Value)
			if p.isStacked() {
				under = append(under, plotter.XY{X: x, Y: below[sample.Timestamp]})
				y += below[sample.Timestamp]
				below[sample.Timestamp] = y
			}
			points, most = append(points, plotter.XY{X: x, Y: y}), max(most, y)
		}
		if p.isStacked() {
			slices.Reverse(under)
			area, err := plotter.NewPolygon(append(slices.Clone(points), under...))
			if err != nil {
				return 0, fmt.Errorf("draw an area: %w", err)
			}
			area.Color, area.Width = lighter(in[i]), 0
			chart.Add(area)
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return 0, fmt.Errorf("draw a line: %w", err)
		}
		drawn.Color, drawn.Width = in[i], vg.Points(1.2)
		chart.Add(drawn)
	}
	return most, nil
}

// withoutGaps are lines that have a value for each time that any of them has: 0 where there is none.
func withoutGaps(lines []line) []line {
	times := map[model.Time]bool{}
	for _, l := range lines {
		for _, sample := range l.values {
			times[sample.Timestamp] = true
		}
	}
	all := slices.Clone(lines)
	for i, l := range all {
		there := map[model.Time]model.SampleValue{}
		for _, sample := range l.values {
			there[sample.Timestamp] = sample.Value
		}
		all[i].values = nil
		for _, t := range slices.Sorted(maps.Keys(times)) {
			all[i].values = append(all[i].values, model.SamplePair{Timestamp: t, Value: there[t]})
		}
	}
	return all
}

func (p panel) isStacked() bool { return p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" }

// drawKey draws which line has which colour, two in a row, and returns how high it is.
func (p panel) drawKey(place draw.Canvas, lines []line) vg.Length {
	rows := (len(lines) + 1) / 2
	each, in := (place.Max.X-place.Min.X)/2, colors(lines)
	for i, l := range lines {
		x, y := place.Min.X+each*vg.Length(i%2), place.Min.Y+vg.Length(rows-1-i/2)*(rowHeight-3)
		fill(place, vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + swatchSize, Y: y + swatchSize}}, in[i])
		place.FillText(style(textSize, ink()), vg.Point{X: x + swatchSize + 4, Y: y}, clipped(style(textSize, ink()), l.name, each-swatchSize-10))
	}
	return vg.Length(rows)*(rowHeight-3) + 4
}

// compareMost compares the greatest values of two lines.
func compareMost(a, b line) int {
	byValue := func(x, y model.SamplePair) int {
		switch {
		case x.Value < y.Value:
			return -1
		case x.Value > y.Value:
			return 1
		}
		return 0
	}
	return byValue(slices.MaxFunc(a.values, byValue), slices.MaxFunc(b.values, byValue))
}

// span is from the first to the last time of any line.
func span(lines []line) (first, last model.Time) {
	first, last = lines[0].values[0].Timestamp, lines[0].values[0].Timestamp
	for _, l := range lines {
		first, last = min(first, l.values[0].Timestamp), max(last, l.values[len(l.values)-1].Timestamp)
	}
	return first, last
}

// clock is a time as minutes and seconds since another.
func clock(t, since model.Time) string {
	passed := t.Sub(since).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(passed.Minutes()), int(passed.Seconds())%60)
}

// withAlignment is a style with the alignment of another.
func withAlignment(s, of draw.TextStyle) draw.TextStyle {
	s.XAlign, s.YAlign, s.Rotation = of.XAlign, of.YAlign, of.Rotation
	return s
}

// lighter is a colour that what is below shines through.
func lighter(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 0x66} //nolint:gosec // eight bits each
}
