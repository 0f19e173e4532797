// Command agent runs in a remote cluster and reports changes there to the control plane. It is a validating webhook
// that allows every request and then sends an event for each changed object to the listener in the control plane
// (docs/agent.md).
//
//	settings.go            flags and environment variables
//	run.go, server.go      starts and stops the parts; the ports
//	internal/admission     the webhook: reads reviews and finds changes
//	internal/queue         events that wait to be sent, merged per object
//	internal/report        sends events to the listener
//	internal/certificates  reloads the certificate when its files change
//	internal/metrics       metrics, with the names of the earlier generation
//
// What must stay true:
//
//   - The answer to the API server never waits for the listener.
//   - Memory is bounded, whatever the API server sends: reviews, the queue and connections have limits, and the process
//     stays below 30 MiB.
//   - The agent sends and logs no content of objects. An event names the object; a log line at most its kind, namespace
//     and name.
//   - A lost event delays a change but does not lose it: the control plane's sweep finds it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The linker sets version and commit (see deploy/image).
var (
	version = "0.0.0-dev"
	commit  = "unknown" //nolint:gochecknoglobals // set by the linker like version, which this linter knows
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
