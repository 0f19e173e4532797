package main

// program is one program of this repository.
type program struct {
	name string
	// module is the folder of the Go module, source the package in it.
	module, source string
	// variables are set by the linker.
	variables map[string]string
}

// programs are all programs, in the order in which they are built: those that
// are there soonest first.
func programs(version string) []program {
	manager := program{name: "lifecycle-manager", module: ".", source: "./cmd/lifecycle-manager"}
	if version != "" {
		manager.variables = map[string]string{"main.version": version}
	}
	return []program{
		{name: "demo", module: ".", source: "./test/demo"},
		{name: "fleet", module: "test/fleet", source: "."},
		{name: "sample-operator", module: ".", source: "./test/sample-operator"},
		manager,
		{name: "module", module: "cmd/module", source: "."},
		{name: "modules", module: "test/modules", source: "."},
	}
}
