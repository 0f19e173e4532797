// Command build builds the programs of this repository and says how far it is: from an empty cache some of them take
// minutes.
//
//	go run ./test/build [-o bin] PROGRAM...
//
// By the name "previous" it builds the lifecycle-manager of the release that the file test/previous names. With -fleet it
// also builds the programs that a fleet runs (test/fleet/programs), without its optional ones.
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

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
	fleet "github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	switch {
	case interrupted:
		const exitInterrupted = 130
		os.Exit(exitInterrupted)
	case err != nil:
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	folder := flags.String("o", "bin", "folder of the built programs")
	version := flags.String("version", "", "version that the programs say they have")
	commit := flags.String("commit", "", "commit that they say they are built from, where they are given a version")
	withFleet := flags.Bool("fleet", false, "also build what a fleet runs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	output, err := filepath.Abs(*folder)
	if err != nil {
		return fmt.Errorf("find the folder of the built programs: %w", err)
	}
	wanted, err := pick(programs(output, *version, *commit), flags.Args())
	if err != nil {
		return err
	}
	// It comes last, since it shares most packages with this release.
	previous := slices.IndexFunc(wanted, func(p compile.Program) bool { return p.Name == previousName })
	ours := wanted
	if previous >= 0 {
		ours = slices.Delete(slices.Clone(wanted), previous, previous+1)
	}
	if err := buildOurs(ctx, ours, *withFleet); err != nil || previous < 0 {
		return err
	}
	return buildPrevious(ctx, wanted[previous], say)
}

func buildOurs(ctx context.Context, wanted []compile.Program, withFleet bool) error {
	if !withFleet {
		return compile.Build(ctx, wanted, say)
	}
	builder, err := fleet.DefaultBuilder(say)
	if err != nil {
		return err
	}
	_, err = builder.EnsureAfter(ctx, wanted)
	return err
}

// pick returns the programs with the given names, and without a name all of this release.
func pick(known []compile.Program, names []string) ([]compile.Program, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(known, func(p compile.Program) bool { return p.Name == previousName }), nil
	}
	picked := make([]compile.Program, 0, len(names))
	for _, name := range names {
		index := slices.IndexFunc(known, func(p compile.Program) bool { return p.Name == name })
		if index < 0 {
			return nil, fmt.Errorf("no program is called %q: there are %s", name, strings.Join(namesOf(known), ", "))
		}
		picked = append(picked, known[index])
	}
	return picked, nil
}

func namesOf(known []compile.Program) []string {
	names := make([]string, 0, len(known))
	for _, p := range known {
		names = append(names, p.Name)
	}
	return names
}

func say(line string) { fmt.Fprintln(os.Stderr, line) }
