// Command agent runs in a remote cluster and tells the control plane what changed there: it is a validating webhook that
// allows everything, and reports afterwards which objects changed (docs/agent.md).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version and commit are set by the linker (see deploy/image).
var (
	version = "0.0.0-dev"
	commit  = "unknown" //nolint:gochecknoglobals // as version, which the linter knows
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
