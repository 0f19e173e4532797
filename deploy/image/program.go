package main

import (
	"fmt"
	"path"
	"strings"
)

// program is one that has an image.
type program struct {
	name string
	// module is the folder of its Go module, from the root of the repository, and source its package in it.
	module, source string
	// stamped programs have variables in package main for their version and commit.
	stamped     bool
	title, text string
	// arguments are those that it runs with unless others are given.
	arguments []string
}

// path is where the program is in its image: in a folder that is searched for programs, for `kubectl exec`.
func (p program) path() string { return "/usr/bin/" + p.name }

// importPath is that of its package.
func (p program) importPath() string { return path.Join(repository, p.module, p.source) }

// programs are all programs that have an image.
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
	return program{}, fmt.Errorf("no program with an image is called %q: there are %s", wanted, strings.Join(programNames(), ", "))
}
