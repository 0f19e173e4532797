package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/progress"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// heartbeat is how often a running build says that it still runs.
const heartbeat = 15 * time.Second

// Builder makes what is missing in the cache.
type Builder struct {
	// Components is the folder of the component modules.
	Components string
	// Cache is the folder of built programs.
	Cache string
	// Assets is a folder with ready programs that replace built ones (the value
	// of KUBEBUILDER_ASSETS), or empty.
	Assets string
	// Optional are the names of the optional groups that are built as well.
	Optional []string
	Progress *progress.Printer
}

// task is one file that may have to be made.
type task struct {
	group   Group
	version string
	target  string
	binary  *Binary
	file    *File
}

// Ensure returns the paths of all programs and files by name, after making
// those that are missing, one after the other.
func (b Builder) Ensure(ctx context.Context) (map[string]string, error) {
	tasks, paths, err := b.plan(ctx)
	if err != nil {
		return nil, err
	}
	if len(missing(tasks)) == 0 {
		return paths, nil
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache of built programs: %w", err)
	}
	// Only one fleet on this machine builds at a time: two would do the same
	// work twice, and need twice the memory.
	unlock, err := state.Lock(ctx, filepath.Join(b.Cache, "build.lock"), func() {
		b.Progress.Printf("waiting: another command is building the fleet's programs")
	})
	if err != nil {
		return nil, err
	}
	defer unlock()
	absent := missing(tasks)
	begin := b.Progress.Now()
	for i, task := range absent {
		if err := b.make(ctx, task, i+1, len(absent)); err != nil {
			return nil, err
		}
	}
	if len(absent) > 0 {
		b.Progress.Printf("built %d programs and files in %s, kept in %s", len(absent), b.Progress.Since(begin), b.Cache)
	}
	return paths, nil
}

func (b Builder) plan(ctx context.Context) ([]task, map[string]string, error) {
	goVersion, err := b.command(ctx, b.Components, "env", "GOVERSION")
	if err != nil {
		return nil, nil, err
	}
	var tasks []task
	paths := map[string]string{}
	for _, group := range Groups() {
		if group.Optional && !slices.Contains(b.Optional, group.Name) {
			continue
		}
		version, err := group.pinned(b.Components)
		if err != nil {
			return nil, nil, err
		}
		key, err := group.key(b.Components, version, goVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, binary := range group.Binaries {
			if ready, found := b.asset(binary); found {
				paths[binary.Name] = ready
				continue
			}
			target := filepath.Join(b.Cache, key, binary.Name)
			paths[binary.Name] = target
			tasks = append(tasks, task{group: group, version: version, target: target, binary: &binary})
		}
		for _, file := range group.Files {
			target := filepath.Join(b.Cache, key, file.Name)
			paths[file.Name] = target
			tasks = append(tasks, task{group: group, version: version, target: target, file: &file})
		}
	}
	return tasks, paths, nil
}

// asset is the ready program that replaces the binary, if there is one.
func (b Builder) asset(binary Binary) (string, bool) {
	if b.Assets == "" || !binary.Replaceable {
		return "", false
	}
	path := filepath.Join(b.Assets, binary.Name)
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir()
}

func missing(tasks []task) []task {
	var absent []task
	for _, task := range tasks {
		if _, err := os.Stat(task.target); err != nil {
			absent = append(absent, task)
		}
	}
	return absent
}

func (b Builder) make(ctx context.Context, task task, number, total int) error {
	if err := os.MkdirAll(filepath.Dir(task.target), 0o755); err != nil {
		return fmt.Errorf("create the cache of built programs: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d.tmp", task.target, os.Getpid())
	defer func() { _ = os.Remove(temporary) }()
	if task.file != nil {
		if err := b.copy(ctx, task, temporary); err != nil {
			return err
		}
		b.Progress.Printf("copied %s of %s %s (%d of %d)", task.file.Name, task.group.Name, task.version, number, total)
		return nil
	}

	what := fmt.Sprintf("%s %s (%d of %d)", task.binary.Name, task.version, number, total)
	b.Progress.Printf("building %s, about %s from a cold cache", what, task.binary.Cold)
	stop := b.Progress.Heartbeat(heartbeat, func(elapsed time.Duration) string {
		return fmt.Sprintf("building %s, %d s so far", what, int(elapsed.Seconds()))
	})
	begin := b.Progress.Now()
	_, err := b.command(ctx, task.group.folder(b.Components), task.binary.arguments(task.version, temporary)...)
	stop()
	if err != nil {
		return fmt.Errorf("build %s: %w", task.binary.Name, err)
	}
	if err := install(temporary, task.target, 0o755); err != nil {
		return err
	}
	b.Progress.Printf("built %s in %s", what, b.Progress.Since(begin))
	return nil
}

func (b Builder) copy(ctx context.Context, task task, temporary string) error {
	folder := task.group.folder(b.Components)
	// go list does not download, and the build that has filled the module cache
	// may be long gone.
	if _, err := b.command(ctx, folder, "mod", "download", task.group.Module); err != nil {
		return fmt.Errorf("fetch the source of %s: %w", task.group.Name, err)
	}
	source, err := b.command(ctx, folder, "list", "-m", "-mod=readonly", "-f", "{{.Dir}}", task.group.Module)
	if err != nil {
		return fmt.Errorf("find the source of %s: %w", task.group.Name, err)
	}
	var content bytes.Buffer
	if err := join(&content, source, task.file.Sources); err != nil {
		return err
	}
	if err := join(&content, folder, task.file.Own); err != nil {
		return err
	}
	if err := os.WriteFile(temporary, content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", task.target, err)
	}
	return install(temporary, task.target, 0o644)
}

// command runs the go command and returns what it printed.
func (b Builder) command(ctx context.Context, folder string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = folder
	// The user's settings hold (proxy, caches), other than those that would
	// build something else.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// An interrupted go command stops its compilers and tidies up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var output, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("go %s: %w", arguments[0], context.Cause(ctx))
		}
		return "", fmt.Errorf("go %s in %s: %w\n%s", arguments[0], folder, err, lastLines(problems.String(), 30))
	}
	return strings.TrimSpace(output.String()), nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
