package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/forecast"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/workerversion"
)

// Exit codes.
const (
	// exitDone: all was done.
	exitDone = 0
	// exitFailed: it could not be done; a message says why.
	exitFailed = 1
	// exitUsage: the command line is not right.
	exitUsage = 2
	// exitWouldChange: `plan` found something to do.
	exitWouldChange = 2
)

// streams are what the commands read and write. Results go to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, arguments []string, s streams) int {
	root := newRootCommand() //nolint:contextcheck // a command gets it when it is executed
	root.SetArgs(withCommand(arguments))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	// What fails before a command runs is cobra's own, about the command line.
	ran := false
	root.PersistentPreRun = func(*cobra.Command, []string) { ran = true }
	failed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, forecast.ErrWouldChange) {
		return exitWouldChange // what, is printed already
	}
	_, _ = fmt.Fprintln(s.err, "error:", err)
	if ran && !errors.Is(err, cli.ErrUsage) {
		return exitFailed
	}
	_, _ = fmt.Fprintf(s.err, "%s --help says what can be given\n", failed.CommandPath())
	if failed.Name() == forecast.CommandName {
		return exitFailed // its other code says that something would change
	}
	return exitUsage
}

// withCommand takes arguments that begin with a flag for those of run: upstream's program, whose Deployments have such
// arguments, has no commands.
func withCommand(arguments []string) []string {
	if len(arguments) == 0 || !strings.HasPrefix(arguments[0], "--") || arguments[0] == "--help" || arguments[0] == "--version" {
		return arguments
	}
	return append([]string{"run"}, arguments...)
}

// newRootCommand is the program with all its commands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lifecycle-manager",
		Short: "Keeps Kubernetes clusters equipped with the modules that their owners asked for",
		Long: `Keeps Kubernetes clusters equipped with the modules that their owners asked for.

Exit codes: 0 done, 1 it could not be done, 2 wrong usage. Those of plan differ: 0 nothing would change, 2 something would
change, 1 that could not be said, or wrong usage.`,
		Version:       thisBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newRunCommand(), newStatusCommand(), newCheckCommand(), newSupportBundleCommand(), newPurgeCommand(), newPlanCommand(), newMigrateCommand(), workerversion.NewCommand(dialDeployment), newDefinitionsCommand(), newVersionCommand(), newRenderChartCommand())
	return root
}
