// The program page draws records of `make scale` as one HTML page: a chart for each figure of each phase, with all records
// beside each other.
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
)

//go:embed page.html
var page embed.FS

func main() {
	out := flag.String("o", "scale.html", "file of the page")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(out string, files []string) error {
	if len(files) == 0 {
		return errors.New("no record is given")
	}
	records, err := readRecords(files)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Clean(out))
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return errors.Join(write(file, records), file.Close())
}

// section is a phase on the page.
type section struct {
	Name   string
	Failed []string
	Charts []template.HTML
}

// write writes the page.
func write(to io.Writer, records []record) error {
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
				return err
			}
			s.Charts = append(s.Charts, drawn)
		}
		sections = append(sections, s)
	}
	parsed, err := template.ParseFS(page, "page.html")
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	if err := parsed.Execute(to, map[string]any{"Records": records, "Sections": sections}); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
