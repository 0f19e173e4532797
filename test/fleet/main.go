// Fleet runs, on this machine's loopback interface, what Lifecycle Manager
// works with: a control plane cluster, remote clusters, a Temporal server with
// its web interface, and an OCI registry. All are real programs, built from the
// Go module proxy. README.md describes its use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
)

// becomeCommand is the first argument that makes this program a shim, see
// process.Launcher.
const becomeCommand = "become"

func main() {
	if len(os.Args) > 1 && os.Args[1] == becomeCommand {
		// Returns only when it failed; the message goes to the component's log.
		fmt.Fprintln(os.Stderr, process.BecomeRecorded(os.Args[2:]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends this program at once; down cleans up after that.
	context.AfterFunc(ctx, stop)
	err := rootCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	if interrupted && errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "interrupted")
		const exitInterrupted = 130
		os.Exit(exitInterrupted)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		printLog(err)
		os.Exit(1)
	}
}

// printLog shows the end of the log of a component that failed.
func printLog(err error) {
	var failure *fleet.ComponentError
	if !errors.As(err, &failure) {
		return
	}
	const lines = 20
	tail, err := fleet.LastLines(failure.Log, lines)
	if err != nil || tail == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "\nthe last lines of %s:\n%s\n", failure.Log, tail)
}
