// Package command is the command line of the module tool.
package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
	"github.com/kyma-project/lifecycle-manager/cmd/module/template"
)

// Exit codes.
const (
	// ExitDone: all was done.
	ExitDone = 0
	// ExitModule: the module is not right; what is wrong was printed.
	ExitModule = 1
	// ExitUsage: the command line is not right.
	ExitUsage = 2
	// ExitStore: the registry or the archive could not be read or written.
	ExitStore = 3
	// ExitVersionExists: the registry has the version with other content.
	ExitVersionExists = 4
)

// Streams are what the commands read and write. Resources and findings go to
// Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// errUsage says that the command line is not right.
var errUsage = errors.New("wrong usage")

// Execute runs the command line of a version of the program and returns the exit code.
func Execute(arguments []string, version string, streams Streams) int {
	component.LogErrorsOnly()

	root := newRoot()
	root.Version = version
	root.SetArgs(arguments)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w", errUsage, err)
	})
	ran := false
	for _, command := range root.Commands() {
		run := command.RunE
		command.RunE = func(command *cobra.Command, arguments []string) error {
			ran = true
			return run(command, arguments)
		}
	}
	err := root.Execute()
	if err == nil {
		return ExitDone
	}
	_, _ = fmt.Fprintf(streams.Err, "module: %v\n", err)
	return exitCode(err, ran)
}

// exitCode maps an error to its exit code. An error before a command ran is
// cobra's own, about the command line.
func exitCode(err error, ran bool) int {
	switch {
	case !ran,
		errors.Is(err, errUsage),
		errors.Is(err, ship.ErrDescriptorForm),
		errors.Is(err, template.ErrFormat):
		return ExitUsage
	case errors.Is(err, lint.ErrFindings),
		errors.Is(err, config.ErrInvalid):
		return ExitModule
	case errors.Is(err, component.ErrVersionExists):
		return ExitVersionExists
	}
	return ExitStore
}

// modulePath is the one optional argument of all commands.
func modulePath(arguments []string) string {
	if len(arguments) == 0 {
		return "."
	}
	return arguments[0]
}

func oneArgument(command *cobra.Command, arguments []string) error {
	if len(arguments) > 1 {
		return fmt.Errorf("%w: %s takes one folder or configuration file, not %d", errUsage, command.Name(), len(arguments))
	}
	return nil
}

// newRoot is the program with all its commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "module",
		Short: "Ship modules for Lifecycle Manager",
		Long: `Ship modules for Lifecycle Manager.

A module is a folder with a ` + config.FileName + `, a manifest or a Helm chart, and
optionally a default custom resource. It becomes an OCM component version in an
OCI registry, published with a ModuleTemplate and a ModuleReleaseMeta.

Exit codes: 0 done, 1 the module is not right, 2 wrong usage, 3 the registry or
archive could not be read or written, 4 the registry has this version with other
content.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newLintCommand(), newCreateCommand(), newPushCommand())
	return root
}
