package main

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a picture.
const (
	width        = 900
	gap          = 8
	headHeight   = 26
	numberHeight = 64
	panelHeight  = 200
	inset        = 10
)

// What is drawn in which colour.
func ink() color.Color    { return rgb(0x24292f) }
func faint() color.Color  { return rgb(0x6e7781) }
func frame() color.Color  { return rgb(0xd8dee4) }
func ground() color.Color { return rgb(0xf6f8fa) }

// series is the colour of a series by its number.
func series(number int) color.Color {
	all := []uint32{0x3b7dd8, 0x4caf6d, 0xe69f3c, 0xd65f5f, 0x8e6bc1, 0x3fb0b5, 0xb07d4f, 0xd87fb3, 0x8c959f, 0x9cb83c}
	return rgb(all[number%len(all)])
}

func rgb(code uint32) color.Color {
	return color.RGBA{R: uint8(code >> 16), G: uint8(code >> 8), B: uint8(code), A: 0xff} //nolint:gosec // eight bits each
}

// named is the colour that Grafana calls so.
func named(name string) color.Color {
	switch name {
	case "green":
		return rgb(0x2d8a4e)
	case "orange":
		return rgb(0xc9771b)
	case "red":
		return rgb(0xc43d3d)
	default:
		return ink()
	}
}

// style is that of a text of this size.
func style(size float64, in color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color: in, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, font.Length(size)), Handler: plot.DefaultTextHandler,
	}
}

// draw draws the numbers of a dashboard, and below them the panels with these titles, two in a row.
func (d dashboard) draw(titles []string) ([]byte, error) {
	numbers := d.numbers()
	top := headHeight
	if len(numbers) > 0 {
		top += numberHeight + gap
	}
	rows := (len(titles) + 1) / 2
	height := top + rows*(panelHeight+gap)
	picture := vgsvg.New(width, vg.Length(height))
	all := draw.New(picture)
	fill(all, all.Rectangle, color.White)
	all.FillText(style(13, ink()), vg.Point{X: gap, Y: all.Max.Y - 18}, d.Title)
	for i, p := range numbers {
		place := cell(all, headHeight, numberHeight, i, len(numbers))
		p.drawFrame(place)
		p.drawNumber(place)
	}
	for i, title := range titles {
		p, err := d.panel(title)
		if err != nil {
			return nil, err
		}
		place := cell(all, top+i/2*(panelHeight+gap), panelHeight, i%2, 2)
		p.drawFrame(place)
		inner := draw.Crop(place, inset, -inset, inset, -24)
		switch p.Type {
		case "table":
			p.drawTable(inner)
		case "state-timeline":
			p.drawTimeline(inner)
		default:
			err = p.drawSeries(inner)
		}
		if err != nil {
			return nil, fmt.Errorf("panel %s: %w", title, err)
		}
	}
	var drawn bytes.Buffer
	if _, err := picture.WriteTo(&drawn); err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	// Browsers need not have this font.
	return []byte(strings.ReplaceAll(drawn.String(), "font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif")), nil
}

// cell is one of several places beside each other, so far from the top.
func cell(all draw.Canvas, top, height, index, count int) draw.Canvas {
	each := (all.Max.X - all.Min.X - gap) / vg.Length(count)
	left := all.Min.X + gap + each*vg.Length(index)
	upper := all.Max.Y - vg.Length(top)
	return draw.Canvas{Canvas: all.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: left, Y: upper - vg.Length(height)}, Max: vg.Point{X: left + each - gap, Y: upper},
	}}
}

func fill(on draw.Canvas, place vg.Rectangle, with color.Color) {
	on.SetColor(with)
	on.Fill(place.Path())
}

func (p panel) drawFrame(place draw.Canvas) {
	fill(place, place.Rectangle, ground())
	place.SetColor(frame())
	place.SetLineWidth(0.75)
	place.Stroke(place.Path())
	in, room := style(10, ink()), place.Max.X-place.Min.X-2*inset
	if in.Width(p.Title) > room {
		in = style(textSize, ink())
	}
	place.FillText(in, vg.Point{X: place.Min.X + inset, Y: place.Max.Y - 16}, clipped(in, p.Title, room))
}

// clipped is a text, or as much of it as there is room for.
func clipped(in draw.TextStyle, whole string, room vg.Length) string {
	if in.Width(whole) <= room {
		return whole
	}
	letters := []rune(whole)
	for len(letters) > 0 && in.Width(string(letters)+"…") > room {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}
