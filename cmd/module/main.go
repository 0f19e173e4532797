// Command module ships modules for Lifecycle Manager. It turns a folder with a
// manifest or a Helm chart into an OCM component version in an OCI registry.
// Package command has its commands.
package main

import (
	"os"

	"github.com/kyma-project/lifecycle-manager/cmd/module/command"
)

// version and commit are set by the linker (see deploy/image).
var (
	version = "0.0.0-dev"
	commit  = "unknown" //nolint:gochecknoglobals // as version, which the linter knows
)

func main() {
	os.Exit(command.Execute(os.Args[1:], version+" (commit "+commit+")", command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
