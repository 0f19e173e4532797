// Command demo shows the whole path on this machine, from a Kyma to running
// modules, on real components: `make demo`.
//
//	demo.go       the demo from beginning to end
//	fleet.go      clusters, Temporal and registry
//	manager.go    Lifecycle Manager and the sample operator
//	modules.go    modules, from their sources into registry and catalog
//	kyma.go       the access Secret, the Kyma, and the tree of its modules
//	next.go       what to open and to try
//	acts.go       what is shown: the Kyma, or a tour
//	rollout.go    the tour of a rollout, step by step
//	staged.go     what that tour rolls out, and to which Kymas
//	follow.go     how far a rollout is, line by line
//	command.go    programs that are waited for
//	keep.go       programs that run beside the demo, and end with it
//	say.go        what the user reads
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == keepCommand {
		os.Exit(keep(os.Args[2:]))
	}
	os.Exit(start(os.Args[1:]))
}

func start(args []string) int {
	s, err := parse(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		return exitUsage
	}

	// A closed terminal ends the demo like Ctrl-C does.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends this program at once. What it started then ends by
	// itself (keep.go, and the fleet's owner).
	context.AfterFunc(ctx, stop)
	err = run(ctx, s)
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		return exitInterrupted
	default:
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
}

// parse reads the flags. What is wrong with them is written to problems, with the usage.
func parse(args []string, problems io.Writer) (settings, error) {
	s := settings{}
	flags := flag.NewFlagSet("make demo ARGS=", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.BoolVar(&s.exitWhenReady, "exit-when-ready", false,
		"exit with 0 once all is Ready, also the module that is enabled from inside the remote cluster, or once the tour has ended")
	flags.Func("tour", "show this instead: `NAME` is "+strings.Join(tourNames(), " or "), func(name string) error {
		s.tour = name
		return checkTour(name)
	})
	flags.DurationVar(&s.timeout, "timeout", 5*time.Minute, "how long modules may take until Ready, and each step of a tour")
	flags.IntVar(&s.uiPort, "temporal-ui-port", 0, "port of Temporal's web interface (default: 8233, where it is free)")
	flags.StringVar(&s.folder, "state", ".demo", "folder for what the demo keeps while it runs, and for its logs")
	flags.StringVar(&s.programs, "bin", "bin", "folder of the built programs")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("%w, got %q", errArgument, flags.Arg(0))
		_, _ = fmt.Fprintln(problems, "error:", err)
		return s, err
	}
	return s, nil
}

var errArgument = errors.New("the demo takes no argument")
