package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
)

const (
	// previousName is the name of the program, and of the folder that it is in, below that of the other programs.
	previousName = "previous"
	// previousVersion is what it says of itself: another version than this build's, by which workflows notice that
	// the other build took over, and in their order an earlier one.
	previousVersion = "0.0.0-0.previous"
	// previousFile names the release, by a tag or the hash of a commit.
	previousFile = "test/previous"
	// chartFolder is where a release has its chart.
	chartFolder = "deploy/helm/lifecycle-manager"
)

// errNotThere: this repository does not have a release.
var errNotThere = errors.New("not in this repository")

// buildPrevious builds lifecycle-manager from the sources of the previous release, which it takes from the history of this
// repository, unless what is there was built from the same commit, and puts its chart beside it. The target of b is the
// folder. Without that history, as in a shallow clone or an archive of the sources, it says so, and the tests that need it
// fail where a fleet is required.
func buildPrevious(ctx context.Context, b compile.Program, say func(line string)) error {
	folder := b.Target
	commit, err := commitIn(ctx, previousFile)
	if err == nil {
		err = exportChart(ctx, commit, filepath.Join(folder, "chart"))
	}
	if errors.Is(err, errNotThere) {
		say("did not build " + b.Name + ": " + err.Error())
		return os.RemoveAll(folder)
	}
	if err != nil {
		return err
	}
	b.Target = filepath.Join(folder, "lifecycle-manager")
	mark := filepath.Join(folder, "commit")
	if built, err := os.ReadFile(mark); err == nil && string(built) == commit {
		if _, err := os.Stat(b.Target); err == nil {
			say("built " + b.Name + " before, from commit " + commit)
			return nil
		}
	}
	sources, err := os.MkdirTemp("", "lifecycle-manager-previous-")
	if err != nil {
		return fmt.Errorf("build %s: %w", b.Name, err)
	}
	defer func() { _ = os.RemoveAll(sources) }()
	if err := export(ctx, commit, ".", sources); err != nil {
		return err
	}
	b.Module = sources
	// The mark goes first and comes last, so that it is never beside a program of another commit.
	if err := os.RemoveAll(mark); err != nil {
		return fmt.Errorf("build %s: %w", b.Name, err)
	}
	if err := compile.Build(ctx, []compile.Program{b}, say); err != nil {
		return err
	}
	const readable = 0o644
	if err := os.WriteFile(mark, []byte(commit), readable); err != nil {
		return fmt.Errorf("build %s: %w", b.Name, err)
	}
	return nil
}

// commitIn is the commit of the release that a file names. It is errNotThere where this repository has none of that name.
func commitIn(ctx context.Context, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("find out which release was the previous one: %w", err)
	}
	release, err := releaseIn(string(content))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return commitOf(ctx, release)
}

// exportChart writes the chart of the previous release, whose commit is given, into a folder.
func exportChart(ctx context.Context, commit, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the chart of before: %w", err)
	}
	const searchable = 0o755
	if err := os.MkdirAll(folder, searchable); err != nil {
		return fmt.Errorf("make the folder of the chart: %w", err)
	}
	return export(ctx, commit, chartFolder, folder)
}

// releaseIn is the one line that is no comment.
func releaseIn(content string) (string, error) {
	var named []string
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			named = append(named, line)
		}
	}
	if len(named) != 1 {
		return "", fmt.Errorf("it must name one release, by a tag or the hash of a commit, and has %q", named)
	}
	return named[0], nil
}

// commitOf is the hash of the commit of a release.
func commitOf(ctx context.Context, release string) (string, error) {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", release+"^{commit}").Output()
	if err != nil {
		return "", fmt.Errorf("the release %s is %w; a shallow clone gets it by `git fetch --unshallow --tags`", release, errNotThere)
	}
	return strings.TrimSpace(string(hash)), nil
}

// export writes the files below a path of a commit into a folder.
func export(ctx context.Context, commit, path, folder string) error {
	var said bytes.Buffer
	archive := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit+":"+strings.TrimPrefix(path, "."))
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", folder)
	archive.Stderr, unpack.Stderr = &said, io.Discard
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return fmt.Errorf("export commit %s: %w", commit, err)
	}
	if err := archive.Start(); err != nil {
		return fmt.Errorf("export commit %s: %w", commit, err)
	}
	unpacked := unpack.Run()
	if err := archive.Wait(); err != nil {
		return fmt.Errorf("export commit %s: %w: %s", commit, err, said.String())
	}
	if unpacked != nil {
		return fmt.Errorf("unpack commit %s: %w", commit, unpacked)
	}
	return nil
}
