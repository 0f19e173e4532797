// Generate writes the table of package hint from the tables of reasons in docs/operating.md. Run it from the root of
// the repository with `go run ./internal/platform/hint/generate`.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"log"
	"os"
	"regexp"
	"strings"
)

const (
	page  = "docs/operating.md"
	table = "internal/platform/hint/zz_generated.go"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	code, err := generate(string(content))
	if err != nil {
		return err
	}
	return os.WriteFile(table, code, 0o644) //nolint:gosec // everybody may read a source file
}

// generate returns the Go code for the tables of the page.
func generate(page string) ([]byte, error) {
	_, section, found := strings.Cut(page, "## What each reason means\n")
	if !found {
		return nil, errors.New("the page has no section about reasons")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var code bytes.Buffer
	code.WriteString("// Code generated from docs/operating.md by make generate. DO NOT EDIT.\n\npackage hint\n\n" +
		"func ofReason(reason string) string {\nswitch reason {\n")
	before := ""
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .+ \\| (.+) \\|$").FindAllStringSubmatch(section, -1) {
		todo := plain(row[2])
		if todo == "the same" {
			todo = before
		}
		before = todo
		todo = strings.TrimPrefix(todo, "nothing; ")
		if todo == "nothing" || strings.HasPrefix(todo, "nothing:") || strings.HasPrefix(todo, "nothing,") {
			continue
		}
		fmt.Fprintf(&code, "case %q:\nreturn %q\n", row[1], todo)
	}
	code.WriteString("default:\nreturn \"\"\n}\n}\n")
	return format.Source(code.Bytes())
}

// plain returns a cell without markup: links become their text, and code loses its ticks.
func plain(cell string) string {
	cell = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(cell, "$1")
	return strings.ReplaceAll(strings.TrimSpace(cell), "`", "")
}
