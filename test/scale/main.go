// The program scale measures what the work for many clusters costs: it brings up a control plane, Temporal on
// PostgreSQL, a registry and any number of fake remote clusters (test/memfleet), lets Lifecycle Manager do there what a
// scenario says, such as to install a module in all of them, upgrade and remove it, and writes what that took as JSON.
// `scale compare` compares two such records. Its packages: scenarios reads what is to be done, record is the result,
// usage measures processes, and processes and postgres run them; this one brings the environment up (environment.go),
// plays the phases (play.go) and measures them (measure.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"
	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"
	"github.com/kyma-project/lifecycle-manager/test/scale/usage"
)

// options are the flags.
type options struct {
	clusters, modules, objects, workers int
	latency, readyAfter, readySpread    time.Duration
	manager                             string
	scenario                            string
	temporalStore, postgresFolder       string
	shards                              int
	out                                 string
	keep                                bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "compare" {
		return record.Compare(os.Stdout, arguments[1:])
	}
	log.SetLogger(logr.Discard()) // what clients have to say is not about what is measured
	var o options
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.IntVar(&o.clusters, "clusters", 150, "how many Kymas there are, each with a cluster of its own, besides those that warm up")
	flags.IntVar(&o.modules, "modules", 1, "modules of each Kyma")
	flags.IntVar(&o.objects, "objects", 10, "objects of each module, at least 3")
	flags.IntVar(&o.workers, "workers", 1, "processes of Lifecycle Manager; of several one leads")
	flags.DurationVar(&o.latency, "latency", 0, "how much longer each answer of a cluster takes")
	flags.DurationVar(&o.readyAfter, "ready-after", time.Millisecond, "when a Deployment is available")
	flags.DurationVar(&o.readySpread, "ready-spread", 0, "how much later than that at most, for each Deployment by its name")
	flags.StringVar(&o.manager, "manager", "bin/lifecycle-manager", "the program to measure")
	flags.StringVar(&o.scenario, "scenario", "default", "what is done: a file, or one of "+strings.Join(scenarios.Names(), ", "))
	flags.StringVar(&o.temporalStore, "temporal-store", "", "what Temporal keeps its data in: postgres or sqlite; default: postgres where it is found")
	flags.StringVar(&o.postgresFolder, "postgres", os.Getenv("POSTGRES"), "folder with PostgreSQL's programs initdb, postgres and psql ($POSTGRES); default: those of Debian's newest package, else those in the path")
	// Production clusters mostly have 512. Each shard has readers of queues of its own, which cost also when idle, so that
	// on a small machine so many would be measured rather than the work.
	flags.IntVar(&o.shards, "shards", 128, "history shards of Temporal on PostgreSQL")
	flags.StringVar(&o.out, "out", "", "file for the record; standard output by default")
	flags.BoolVar(&o.keep, "keep", false, "keep the folder with all logs and print its path")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: only flags, or compare, are expected", flags.Arg(0)) //nolint:err113 // for people
	}
	return measure(ctx, o)
}

// measure brings everything up, plays the scenario, and takes everything down.
func measure(ctx context.Context, o options) (err error) {
	if o.clusters < 1 || o.modules < 1 || o.objects < 3 || o.workers < 1 || o.shards < 1 {
		return errors.New("there is at least one cluster, with one module of 3 objects, one worker and one shard")
	}
	e := &environment{options: o, watched: usage.New()}
	// Mistakes in the flags are reported before anything is started.
	if e.scenario, err = scenarios.Read(o.scenario); err != nil {
		return err
	}
	if e.store, e.postgresPrograms, err = chooseStore(o.temporalStore, o.postgresFolder); err != nil {
		return err
	}
	if e.folder, err = os.MkdirTemp("", "lifecycle-manager-scale."); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() {
		e.takeDown(context.WithoutCancel(ctx))
		err = errors.Join(err, e.removeStore())
		if o.keep {
			fmt.Fprintln(os.Stderr, "all logs are in", e.folder)
			return
		}
		err = errors.Join(err, os.RemoveAll(e.folder))
	}()
	if err := e.bringUp(ctx); err != nil {
		return err
	}
	measured, err := play(ctx, e)
	if measured != nil && len(measured.Phases) > 0 {
		// Also of a scenario that did not end: what was measured before may say why.
		err = errors.Join(err, measured.Write(o.out), measured.Verdict())
	}
	return err
}

// say prints the progress.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
