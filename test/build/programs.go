package main

// program is one program of this repository.
type program struct {
	name string
	// module is the folder of the Go module, source the package in it.
	module, source string
	// variables are set by the linker.
	variables map[string]string
}

// ownVersion is what lifecycle-manager says of itself where the linker sets nothing.
const ownVersion = "0.0.0-dev"

// programs are all programs, in the order in which they are built: those that
// are there soonest first. Asked for by name or not, the version that a program
// has anyway gives the same program, which then needs not be linked again; so
// it has no commit either, and only another version does.
func programs(version, commit string) []program {
	manager := program{name: "lifecycle-manager", module: ".", source: "./cmd/lifecycle-manager"}
	agent := program{name: "agent", module: ".", source: "./cmd/agent"}
	tool := program{name: "module", module: "cmd/module", source: "."}
	if version != "" && version != ownVersion {
		manager.variables = map[string]string{"main.version": version}
		if commit != "" {
			manager.variables["main.commit"] = commit
		}
		agent.variables, tool.variables = manager.variables, manager.variables
	}
	return []program{
		{name: "demo", module: ".", source: "./test/demo"},
		{name: "fleet", module: "test/fleet", source: "."},
		{name: "sample-operator", module: ".", source: "./test/sample-operator"},
		agent,
		manager,
		{name: "memfleet", module: "test/memfleet", source: "."},
		{name: "cert-manager", module: "test/certmanager", source: "."},
		tool,
		{name: "modules", module: "test/modules", source: "."},
		{name: previousName, source: "./cmd/lifecycle-manager", variables: map[string]string{"main.version": previousVersion}},
	}
}
