// Command module ships modules for Lifecycle Manager: from a folder with a
// manifest or a Helm chart to an OCM component version in an OCI registry.
package main

import (
	"os"

	"github.com/kyma-project/lifecycle-manager/cmd/module/command"
)

func main() {
	os.Exit(command.Execute(os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
