package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// source is where a module's content comes from.
type source struct {
	// folder with the module's configuration, below this program's own.
	folder string
	// goModule is the Go module that has the content at path; empty where the
	// folder is complete. The content is put beside the configuration as target.
	goModule, path, target string
}

// catalog lists all modules. Versions of one module are in ascending order: the
// release meta of the last one is the one that counts.
func catalog() []source {
	return []source{
		{folder: "sample/1.0.0"},
		{folder: "sample/1.1.0"},
		{folder: "cert-manager", goModule: "github.com/cert-manager/cert-manager", path: "deploy/charts/cert-manager", target: "chart"},
		{folder: "prometheus-operator", goModule: "github.com/prometheus-operator/prometheus-operator", path: "bundle.yaml", target: "bundle.yaml"},
		{folder: "metrics-server", goModule: "sigs.k8s.io/metrics-server", path: "charts/metrics-server", target: "chart"},
	}
}

// errUnknownModule says that a module is asked for that is not in the catalog.
var errUnknownModule = errors.New("unknown module")

// chosen is the part of the catalog whose folders are in one of the named
// modules; all of it where none is named.
func chosen(all []source, names []string) ([]source, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []source
	for _, name := range names {
		before := len(some)
		for _, candidate := range all {
			if candidate.folder == name || filepath.Dir(candidate.folder) == name {
				some = append(some, candidate)
			}
		}
		if len(some) == before {
			return nil, fmt.Errorf("%w %q", errUnknownModule, name)
		}
	}
	return some, nil
}

// assemble makes a complete module folder below work and returns its path.
func assemble(ctx context.Context, here string, module source, work string) (string, error) {
	folder := filepath.Join(work, filepath.FromSlash(module.folder))
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(here, filepath.FromSlash(module.folder)))); err != nil {
		return "", fmt.Errorf("assemble module %s: %w", module.folder, err)
	}
	if module.goModule == "" {
		return folder, nil
	}
	found, err := download(ctx, filepath.Join(here, "upstream"), module.goModule)
	if err != nil {
		return "", fmt.Errorf("assemble module %s: %w", module.folder, err)
	}
	content := filepath.Join(found.Dir, filepath.FromSlash(module.path))
	if err := copyContent(content, filepath.Join(folder, module.target)); err != nil {
		return "", fmt.Errorf("assemble module %s from %s: %w", module.folder, found.Path, err)
	}
	return folder, nil
}

func copyContent(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
