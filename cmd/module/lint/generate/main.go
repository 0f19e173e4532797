// Generate writes fields.json with the required fields and the enumerated values of Kubernetes' kinds. Run it in the
// folder cmd/module: `go run ./lint/generate -openapi-gen PROGRAM`.
//
// It uses the same source and the same program as an API server's OpenAPI documents: k8s.io/api, in the version of
// go.mod, and openapi-gen. The documents in Kubernetes' repository are not sufficient, because they have no enumerated
// values.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	written = "lint/fields.json"
	// printer is a program that is compiled together with the generated definitions. It prints them as JSON.
	printer = `package main

import (
	"encoding/json"
	"os"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func main() {
	schemas := map[string]spec.Schema{}
	for name, definition := range GetOpenAPIDefinitions(spec.MustCreateRef) {
		schemas[name] = definition.Schema
	}
	if err := json.NewEncoder(os.Stdout).Encode(schemas); err != nil {
		panic(err)
	}
}
`
)

func main() {
	log.SetFlags(0)
	generator := flag.String("openapi-gen", "", "program openapi-gen of k8s.io/kube-openapi")
	flag.Parse()
	if err := run(*generator); err != nil {
		log.Fatal(err)
	}
}

func run(generator string) error {
	roots, packages, err := kinds()
	if err != nil {
		return err
	}
	published, err := definitions(generator, packages)
	if err != nil {
		return err
	}
	kept, err := reduce(published, roots, ofKubernetes())
	if err != nil {
		return err
	}
	version, err := output("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/api")
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(map[string]any{"version": strings.TrimSpace(string(version)), "schemas": kept}, "", " ")
	if err != nil {
		return fmt.Errorf("write the fields: %w", err)
	}
	return os.WriteFile(written, append(content, '\n'), 0o644) //nolint:gosec // a source file is for everybody to read
}

// definitions returns the schemas of all types in the packages, by name.
func definitions(generator string, packages []string) (found map[string]spec.Schema, err error) {
	// Within the module, so that its go.mod applies to the program too.
	folder, err := os.MkdirTemp("lint/generate", "definitions-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	arguments := append([]string{
		"--output-dir", folder, "--output-pkg", "main", "--output-file", "definitions.go",
		"--go-header-file", os.DevNull, "--report-filename", filepath.Join(folder, "report.txt"),
	}, packages...)
	if _, err := output(generator, arguments...); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(printer), 0o600); err != nil {
		return nil, err
	}
	printed, err := output("go", "run", "./"+folder)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(printed, &found); err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	return found, nil
}

func output(program string, arguments ...string) ([]byte, error) {
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	return printed, nil
}
