package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	columns    = 110 // what is longer is cut
	rows       = 24  // the height of the terminal; older lines scroll away
	lineWidth  = 864 // of so many characters of 13 pixels
	lineHeight = 18
	margin     = 14
	top        = 40 // below the bar with the title

	longestPause = 1200 * time.Millisecond
	shortest     = 60 * time.Millisecond // so that lines of one moment still come one by one
	restAtEnd    = 6 * time.Second
)

// cues are the times at which lines appear in the picture: as they came, but no pause is longer than longestPause.
func cues(printed []line) []time.Duration {
	var all []time.Duration
	at, before := 500*time.Millisecond, time.Duration(0)
	for _, l := range printed {
		at += min(max(l.at-before, shortest), longestPause)
		before = l.at
		all = append(all, at)
	}
	return all
}

// draw is the picture.
func draw(title string, printed []line) string {
	times := cues(printed)
	total := restAtEnd
	if len(times) > 0 {
		total += times[len(times)-1]
	}
	width, height := lineWidth+2*margin, top+rows*lineHeight+margin
	var svg strings.Builder
	put := func(format string, values ...any) { fmt.Fprintf(&svg, format+"\n", values...) }
	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`, width, height, width, height)
	put(`<title id="title">What %s prints, line by line</title>`, html.EscapeString(title))
	put(`<style>`)
	put(`text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d9e2ec; white-space: pre; }`)
	put(`.bar { fill: #9fb3c8; } .good { fill: #7bd88f; } .busy { fill: #f5d76e; } .bad { fill: #ff8a80; }`)
	put(`.line, .scroll { animation: %.2fs step-end infinite; }`, total.Seconds())
	percent := func(at time.Duration) float64 { return 100 * at.Seconds() / total.Seconds() }
	for i, at := range times {
		put(`@keyframes l%d { 0%% { opacity: 0; } %.3f%% { opacity: 1; } } .l%d { animation-name: l%d; }`, i, percent(at), i, i)
	}
	put(`@keyframes scroll { 0%% { transform: translateY(0); }`)
	end := 0
	for i, at := range times {
		if i >= rows {
			end = (i - rows + 1) * lineHeight
			put(`%.3f%% { transform: translateY(-%dpx); }`, percent(at), end)
		}
	}
	put(`}`)
	put(`.scroll { animation-name: scroll; }`)
	put(`@media (prefers-reduced-motion: reduce) { .line, .scroll { animation: none; } .scroll { transform: translateY(-%dpx); } }`, end)
	put(`</style>`)
	put(`<clipPath id="screen"><rect x="0" y="%d" width="%d" height="%d"/></clipPath>`, top-4, width, rows*lineHeight+8)
	put(`<rect width="%d" height="%d" rx="8" fill="#1f2933"/>`, width, height)
	put(`<text class="bar" x="%d" y="24">$ %s</text>`, margin, html.EscapeString(title))
	put(`<g clip-path="url(#screen)"><g class="scroll">`)
	for i, l := range printed {
		put(`<text class="line l%d" x="%d" y="%d" xml:space="preserve">%s</text>`, i, margin, top+(i+1)*lineHeight-5, coloured(cut(l.text)))
	}
	put(`</g></g>`)
	put(`</svg>`)
	return svg.String()
}

func cut(text string) string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}

var (
	control = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
	state   = regexp.MustCompile(`\b(Ready|Processing|Deleting|Warning|Error)\b`)
)

// coloured is a line as text of an SVG, with states in their colours.
func coloured(text string) string {
	text = html.EscapeString(control.ReplaceAllString(text, ""))
	return state.ReplaceAllStringFunc(text, func(word string) string {
		class := map[string]string{"Ready": "good", "Error": "bad"}[word]
		if class == "" {
			class = "busy"
		}
		return `<tspan class="` + class + `">` + word + `</tspan>`
	})
}
