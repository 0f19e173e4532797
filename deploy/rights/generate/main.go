// Generate copies files from other folders that the chart needs, and writes the table of rights in docs/rights.md. Run
// it in the root of the repository: `go run ./deploy/rights/generate`.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/deploy/rights"
)

const (
	page  = "docs/rights.md"
	chart = "deploy/helm/lifecycle-manager/files"
	begin = "<!-- generated from deploy/rights/rights.yaml -->\n"
	end   = "<!-- end of generated part -->\n"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	granted, err := rights.All()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no markers for the generated table", page)
	}
	return errors.Join(
		write(page, []byte(before+begin+table(granted)+end+after)),
		write(filepath.Join(chart, "rights.yaml"), rights.List()),
		copyDefinitions(),
	)
}

// copyDefinitions copies the CustomResourceDefinitions into the chart, because a chart can only read files in its own
// folder.
func copyDefinitions() error {
	paths, err := fs.Glob(crds.Files, "*.yaml")
	if err != nil {
		return err
	}
	for _, path := range paths {
		content, err := crds.Files.ReadFile(path)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(chart, "crds", path), content); err != nil {
			return err
		}
	}
	return nil
}

// table returns the table of rights, with one row per right.
func table(granted []rights.Right) string {
	var out strings.Builder
	out.WriteString("| where | who | may | on | for | why |\n|---|---|---|---|---|---|\n")
	for _, right := range granted {
		var on []string
		for _, resource := range right.Resources {
			on = append(on, "`"+resource+"`")
		}
		what := strings.Join(on, ", ")
		if len(right.ResourceNames) > 0 {
			what += " named `" + strings.Join(right.ResourceNames, "`, `") + "`"
		}
		feature := "always"
		if right.When != "" {
			feature = "`" + right.When + "`"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n",
			right.Scope, strings.Join(right.For, ", "), strings.Join(right.Verbs, ", "), what, feature, right.Why)
	}
	return out.String()
}

func write(path string, content []byte) error {
	return os.WriteFile(path, content, 0o644) //nolint:gosec // a file of the repository, readable by everyone
}
