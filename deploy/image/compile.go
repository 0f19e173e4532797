package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// compile builds a program for a platform, statically linked, into a file.
func compile(ctx context.Context, root string, p program, platform v1.Platform, r release, target string) error {
	linker := []string{"-s", "-w"}
	if p.stamped {
		linker = append(linker, "-X", "main.version="+r.version, "-X", "main.commit="+r.commit)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, p.module), "-trimpath", "-buildvcs=false",
		"-ldflags", strings.Join(linker, " "), "-o", target, "./"+p.source)
	// What the environment says of platforms and modes would make another program.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140="+fipsModule(r))
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s for %s: %w", p.name, platform, err)
	}
	return nil
}

// fipsModule is the version of Go's cryptographic module that a program is built with: by name, as each version of Go
// knows which of those it brings is certified.
func fipsModule(r release) string {
	if r.fips {
		return "certified"
	}
	return "off"
}

// goRoot is the folder of the Go that builds.
func goRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the folder of Go: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
