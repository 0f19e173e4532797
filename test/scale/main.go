// The program scale measures what the work for many clusters costs: it brings up a control plane, Temporal, a registry and
// any number of fake remote clusters (test/memfleet), lets Lifecycle Manager install a module in all of them, upgrade and
// remove it, and writes what that took as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	clusters, modules, objects int
	warm                       int
	latency, readyAfter        time.Duration
	manager                    string
	out                        string
	keep                       bool
}

func main() {
	var o options
	flag.IntVar(&o.clusters, "clusters", 150, "how many Kymas get the modules at once, each with a cluster of its own")
	flag.IntVar(&o.warm, "warm", 7, "how many Kymas are made one after the other before that")
	flag.IntVar(&o.modules, "modules", 1, "modules of each Kyma")
	flag.IntVar(&o.objects, "objects", 10, "objects of each module, at least 3")
	flag.DurationVar(&o.latency, "latency", 0, "how much longer each answer of a cluster takes")
	flag.DurationVar(&o.readyAfter, "ready-after", time.Millisecond, "when a Deployment is available")
	flag.StringVar(&o.manager, "manager", "bin/lifecycle-manager", "the program to measure")
	flag.StringVar(&o.out, "out", "", "file for the record; standard output by default")
	flag.BoolVar(&o.keep, "keep", false, "leave the folder with all logs and say where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.clusters < 1 || o.modules < 1 || o.objects < 3 {
		return errors.New("there is at least one cluster with one module of 3 objects")
	}
	folder, err := os.MkdirTemp("", "lifecycle-manager-scale.")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	e := &environment{options: o, folder: folder}
	defer func() {
		e.takeDown(context.WithoutCancel(ctx))
		if o.keep {
			fmt.Fprintln(os.Stderr, "all logs are in", folder)
			return
		}
		err = errors.Join(err, os.RemoveAll(folder))
	}()
	if err := e.bringUp(ctx); err != nil {
		return err
	}
	record, err := play(ctx, e)
	if err != nil {
		return err
	}
	return write(record, o.out)
}

func write(record *record, path string) error {
	var to io.Writer = os.Stdout
	if path != "" {
		file, err := os.Create(filepath.Clean(path))
		if err != nil {
			return fmt.Errorf("write the record: %w", err)
		}
		defer func() { _ = file.Close() }()
		to = file
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(record)
}

// say tells people how far it is.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
