package main

import (
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
)

// ownVersion is what lifecycle-manager says of itself where the linker sets nothing.
const ownVersion = "0.0.0-dev"

// programs are all programs of this repository, in the order in which they are built: those that are there soonest first.
// folder is where they are built. Asked for by name or not, the version that a program has anyway gives the same program,
// which then needs not be linked again; so it has no commit either, and only another version does.
func programs(folder, version, commit string) []compile.Program {
	var variables map[string]string
	if version != "" && version != ownVersion {
		variables = map[string]string{"main.version": version}
		if commit != "" {
			variables["main.commit"] = commit
		}
	}
	all := []compile.Program{
		{Name: "demo", Package: "./test/demo"},
		{Name: "fleet", Package: "./test/fleet"},
		{Name: "sample-operator", Package: "./test/sample-operator"},
		{Name: "agent", Package: "./cmd/agent", Variables: variables},
		{Name: "lifecycle-manager", Package: "./cmd/lifecycle-manager", Variables: variables},
		{Name: "memfleet", Module: "test/memfleet", Package: "."},
		{Name: "cert-manager", Module: "test/certmanager", Package: "."},
		{Name: "module", Module: "cmd/module", Package: ".", Variables: variables},
		{Name: "modules", Module: "test/modules", Package: "."},
		{Name: previousName, Package: "./cmd/lifecycle-manager", Variables: map[string]string{"main.version": previousVersion}},
	}
	for i := range all {
		all[i].Target = filepath.Join(folder, all[i].Name)
	}
	return all
}
