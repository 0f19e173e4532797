package main

import (
	"fmt"
	"path"
	"strings"
)

// program is a program with an image.
type program struct {
	name string
	// module is the folder of its Go module, relative to the root of the repository. source is its package in the
	// module.
	module, source string
	// stamped programs have the variables version and commit in package main.
	stamped     bool
	title, text string
	// arguments are the default arguments.
	arguments []string
}

// path returns the path of the program in its image. It is in PATH, for `kubectl exec`.
func (p program) path() string { return "/usr/bin/" + p.name }

// importPath returns the import path of the program's package.
func (p program) importPath() string { return path.Join(repository, p.module, p.source) }

// programs returns all programs with an image.
func programs() []program {
	return []program{
		{
			name: "lifecycle-manager", module: ".", source: "cmd/lifecycle-manager", stamped: true, arguments: []string{"run"},
			title: "Lifecycle Manager", text: "Keeps Kubernetes clusters equipped with the modules that their owners asked for",
		},
		{
			name: "agent", module: ".", source: "cmd/agent", stamped: true,
			title: "Agent of Lifecycle Manager", text: "Reports changes in a remote cluster to Lifecycle Manager in the control plane",
		},
		{
			name: "module", module: "cmd/module", source: ".", stamped: true,
			title: "Module tool of Lifecycle Manager", text: "Checks modules, and ships them as OCM component versions to OCI registries",
		},
	}
}

func programNames() []string {
	var names []string
	for _, p := range programs() {
		names = append(names, p.name)
	}
	return names
}

func findProgram(wanted string) (program, error) {
	for _, p := range programs() {
		if p.name == wanted {
			return p, nil
		}
	}
	return program{}, fmt.Errorf("unknown program %q: use one of %s", wanted, strings.Join(programNames(), ", "))
}
