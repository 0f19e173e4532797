// Command build builds the programs of this repository and says how far it is:
// from a cold cache some of them take minutes.
//
//	go run ./test/build [-o bin] PROGRAM...
//
// By the name "previous" it builds the lifecycle-manager of the release that the file test/previous names.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	if interrupted {
		const exitInterrupted = 130
		os.Exit(exitInterrupted)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	folder := flags.String("o", "bin", "folder of the built programs")
	version := flags.String("version", "", "version that the programs say they have")
	commit := flags.String("commit", "", "commit that they say they are built from, where they are given a version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := pick(programs(*version, *commit), flags.Args())
	if err != nil {
		return err
	}
	output, err := filepath.Abs(*folder)
	if err != nil {
		return fmt.Errorf("find the folder of the built programs: %w", err)
	}
	for _, p := range wanted {
		build := build{program: p, target: filepath.Join(output, p.name), say: say, now: time.Now}
		if p.name == previousName {
			err = buildPrevious(ctx, build)
		} else {
			err = build.run(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pick returns the programs with the given names, and without a name all of this release.
func pick(known []program, names []string) ([]program, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(known, func(p program) bool { return p.name == previousName }), nil
	}
	picked := make([]program, 0, len(names))
	for _, name := range names {
		found := false
		for _, p := range known {
			if p.name == name {
				picked, found = append(picked, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no program is called %q: there are %s", name, strings.Join(namesOf(known), ", "))
		}
	}
	return picked, nil
}

func namesOf(known []program) []string {
	names := make([]string, 0, len(known))
	for _, p := range known {
		names = append(names, p.name)
	}
	return names
}

func say(line string) { fmt.Fprintln(os.Stderr, line) }
