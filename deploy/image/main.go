// Command image builds the container images of this repository's programs without a container engine. It compiles the
// program for each platform and writes the images as an OCI image layout, each with an SBOM. The same commit and the
// same version of Go always give the same digests, in any folder and at any time.
//
//	go run -C deploy/image . -program lifecycle-manager -out FOLDER [-push REGISTRY/REPOSITORY:TAG]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	program := flags.String("program", "lifecycle-manager", "program in the image: "+strings.Join(programNames(), ", "))
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "platforms of the image, separated by commas")
	out := flags.String("out", "", "folder for the OCI image layout; an existing layout is replaced")
	push := flags.String("push", "", "repository and tag to push the image to; empty: do not push")
	root := flags.String("root", filepath.Join("..", ".."), "root folder of this repository")
	var r release
	flags.StringVar(&r.version, "version", "0.0.0-dev", "version to record in the program and the image")
	flags.StringVar(&r.commit, "commit", unknownCommit, "commit to record in the program and the image")
	flags.BoolVar(&r.fips, "fips", false, "build with the certified version of Go's FIPS 140-3 module")
	created := flags.String("created", time.Unix(0, 0).UTC().Format(time.RFC3339), "creation time to record in the image; use the time of the commit to get the same digest each time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return fmt.Errorf("-out is missing: the folder of the image layout")
	}
	p, err := findProgram(*program)
	if err != nil {
		return err
	}
	if r.created, err = time.Parse(time.RFC3339, *created); err != nil {
		return fmt.Errorf("-created: %w", err)
	}
	r.created = r.created.UTC()
	var target name.Tag
	if *push != "" {
		// Check the tag before the build, which takes minutes.
		if target, err = name.NewTag(*push); err != nil {
			return fmt.Errorf("-push: %w", err)
		}
	}
	built, err := build(ctx, *root, p, strings.Split(*platforms, ","), r, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	if err := built.writeLayout(*out, r.tag()); err != nil {
		return err
	}
	if err := built.describe(os.Stdout, *out); err != nil {
		return err
	}
	if *push == "" {
		return nil
	}
	return built.push(ctx, target, os.Stdout)
}
