package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// goModule is what `go mod download -json` prints of a module.
type goModule struct {
	Path, Version, Dir, Error string
}

// download makes sure that a Go module is in the module cache, in the version
// and with the content that go.mod and go.sum of a folder pin.
func download(ctx context.Context, pinned, path string) (goModule, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", path)
	command.Dir = pinned
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	runErr := command.Run()
	// A module that is not available is reported in the output, and by the exit code.
	var found goModule
	if err := json.Unmarshal(out.Bytes(), &found); err != nil || runErr != nil {
		reason := found.Error
		if reason == "" {
			reason = failed.String()
		}
		return goModule{}, fmt.Errorf("download Go module %s: %w: %s", path, runErr, reason)
	}
	return found, nil
}
