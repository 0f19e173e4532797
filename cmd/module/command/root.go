// Package command is the command line of the module tool: lint, create and push.
// Execute runs it and returns the exit code. The commands only read flags and
// print results; package ship does the work.
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
	// ExitDone means success.
	ExitDone = 0
	// ExitModule means that the module has errors, which were printed.
	ExitModule = 1
	// ExitUsage means that the command line is invalid.
	ExitUsage = 2
	// ExitStore means that the registry or the archive could not be read or
	// written.
	ExitStore = 3
	// ExitVersionExists means that the registry has the version with different
	// content.
	ExitVersionExists = 4
)

// Streams are the inputs and outputs of the commands. Resources and lint's
// findings go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// errUsage is wrapped by errors about the command line.
var errUsage = errors.New("wrong usage")

// Execute runs the program with the arguments and returns the exit code.
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

// exitCode maps an error to its exit code. If no command ran, the error is
// cobra's own and concerns the command line.
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

// modulePath returns the only argument of a command, or the current folder.
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

// newRoot returns the program with all its commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "module",
		Short: "Ship modules for Lifecycle Manager",
		Long: `Ship modules for Lifecycle Manager.

A module is a folder with a ` + config.FileName + `, a manifest or a Helm chart, and
optionally a default custom resource. It becomes an OCM component version in an
OCI registry, published with a ModuleTemplate and a ModuleReleaseMeta.

Exit codes: 0 done, 1 the module has errors, 2 wrong usage, 3 the registry or
archive could not be read or written, 4 the registry has this version with different
content.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newLintCommand(), newCreateCommand(), newPushCommand())
	return root
}
