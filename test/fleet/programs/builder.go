package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// Builder makes what is missing in the cache.
type Builder struct {
	// Components is the folder of the component modules.
	Components string
	// Cache is the folder of built programs.
	Cache string
	// Assets is a folder with ready programs that replace built ones (the value of KUBEBUILDER_ASSETS), or empty.
	Assets string
	// Say gets the lines about what is being built.
	Say func(line string)
}

// task is one program that may have to be built.
type task struct {
	compile.Program
	optional bool
}

// Ensure returns the paths of programs by name, after building those that are missing: all that each fleet needs, and the
// named optional ones. An optional program that was not asked for is in the result if it was built before.
func (b Builder) Ensure(ctx context.Context, optional ...string) (map[string]string, error) {
	return b.EnsureAfter(ctx, nil, optional...)
}

// EnsureAfter builds other programs first, and says how far all of it is.
func (b Builder) EnsureAfter(ctx context.Context, others []compile.Program, optional ...string) (map[string]string, error) {
	paths, tasks, err := b.plan(ctx)
	if err != nil {
		return nil, err
	}
	missing := func() (absent []compile.Program) {
		for _, task := range tasks {
			if !exists(task.Install) && (!task.optional || slices.Contains(optional, task.Name)) {
				absent = append(absent, task.Program)
			}
		}
		return absent
	}
	if len(missing()) > 0 {
		// Only one fleet on this machine builds at a time: two would do the same work twice, and need twice the memory.
		unlock, err := b.lock(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	// Another command may have built them while this one waited.
	if err := compile.Build(ctx, slices.Concat(others, missing()), b.Say); err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if exists(task.Install) {
			paths[task.Name] = task.Install
		}
	}
	return paths, nil
}

func (b Builder) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("create the cache of built programs: %w", err)
	}
	return state.Lock(ctx, filepath.Join(b.Cache, "build.lock"), func() {
		b.Say("waiting: another command is building the fleet's programs")
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// plan returns the paths of ready programs by name, and the tasks for all others.
func (b Builder) plan(ctx context.Context) (map[string]string, []task, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir = b.Components
	output, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("find out the version of Go: %w", err)
	}
	goVersion := strings.TrimSpace(string(output))
	paths := map[string]string{}
	var tasks []task
	for _, group := range Groups() {
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
			installed := filepath.Join(b.Cache, key, binary.Name)
			tasks = append(tasks, task{optional: binary.Optional, Program: compile.Program{
				Name: binary.Name, Module: group.folder(b.Components), Package: binary.Package, Variables: binary.variables(version),
				Target: fmt.Sprintf("%s.%d.tmp", installed, os.Getpid()), Install: installed,
			}})
		}
	}
	return paths, tasks, nil
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
