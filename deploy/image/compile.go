package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
)

// compileAll builds a statically linked program for each platform in a folder. It returns the paths of the programs.
func compileAll(ctx context.Context, root string, p program, platforms []v1.Platform, r release, folder string, say func(string)) ([]string, error) {
	var variables map[string]string
	if p.stamped {
		variables = map[string]string{"main.version": r.version, "main.commit": r.commit}
	}
	paths := make([]string, 0, len(platforms))
	builds := make([]compile.Program, 0, len(platforms))
	for _, platform := range platforms {
		target := filepath.Join(folder, platform.Architecture, p.name)
		paths = append(paths, target)
		builds = append(builds, compile.Program{
			Name: p.name + " for " + platform.String(), Module: filepath.Join(root, p.module), Package: "./" + p.source,
			Variables: variables, Target: target,
			// Overrides the user's environment, which could change the program.
			Environment: []string{"GOOS=" + platform.OS, "GOARCH=" + platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=" + fipsModule(r)},
		})
	}
	return paths, compile.Build(ctx, builds, say)
}

// fipsModule returns the version of Go's cryptographic module to build with. It is a name, because each version of Go
// knows which of its modules is certified.
func fipsModule(r release) string {
	if r.fips {
		return "certified"
	}
	return "off"
}

// goRoot returns the GOROOT of the Go that builds.
func goRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the folder of Go: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
