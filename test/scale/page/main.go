// The program page draws records of `make scale` as one HTML page: a chart for each figure of each phase, with all records
// beside each other. With -svg it also writes each chart into a file of its own, for other documents.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed page.html
var page embed.FS

func main() {
	out := flag.String("o", "scale.html", "file of the page")
	svg := flag.String("svg", "", "folder for a file of each chart; none by default")
	flag.Parse()
	if err := run(*out, *svg, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(out, svg string, files []string) error {
	if len(files) == 0 {
		return errors.New("no record is given")
	}
	records, err := readRecords(files)
	if err != nil {
		return err
	}
	sections, err := drawSections(records)
	if err != nil {
		return err
	}
	if svg != "" {
		if err := writeCharts(svg, sections); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Clean(out))
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return errors.Join(write(file, records, sections), file.Close())
}

// section is a phase on the page.
type section struct {
	Name   string
	Failed []string
	Charts []drawing
}

// drawing is a chart as it is drawn.
type drawing struct {
	Title string
	SVG   template.HTML
}

// drawSections draws all charts.
func drawSections(records []record) ([]section, error) {
	names := make([]string, 0, len(records))
	for _, r := range records {
		names = append(names, r.Name)
	}
	var sections []section
	for _, name := range phaseNames(records) {
		s := section{Name: name}
		for _, r := range records {
			for _, failed := range r.phase(name).Failed {
				s.Failed = append(s.Failed, r.Name+": "+failed)
			}
		}
		for _, c := range charts(records, name) {
			drawn, err := c.svg(names)
			if err != nil {
				return nil, err
			}
			s.Charts = append(s.Charts, drawing{c.title, drawn})
		}
		sections = append(sections, s)
	}
	return sections, nil
}

// writeCharts writes a file for each chart, called after its phase and its title.
func writeCharts(folder string, sections []section) error {
	for _, s := range sections {
		for _, c := range s.Charts {
			name := notInNames.ReplaceAllString(strings.ToLower(s.Name+" "+c.Title), "-") + ".svg"
			if err := os.WriteFile(filepath.Join(folder, name), []byte(c.SVG), 0o600); err != nil {
				return fmt.Errorf("write a chart: %w", err)
			}
		}
	}
	return nil
}

// notInNames is what names of files are spared.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// write writes the page.
func write(to io.Writer, records []record, sections []section) error {
	parsed, err := template.ParseFS(page, "page.html")
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	if err := parsed.Execute(to, map[string]any{"Records": records, "Sections": sections}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
