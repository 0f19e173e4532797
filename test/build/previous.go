package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// previousName is the name of the program, and of the folder that it is in, below that of the other programs.
	previousName = "previous"
	// previousVersion is what it says of itself: another version than this build's, by which workflows notice that
	// the other build took over, and in their order an earlier one.
	previousVersion = "0.0.0-0.previous"
	// previousFile names the release, by a tag or the hash of a commit.
	previousFile = "test/previous"
)

// buildPrevious builds lifecycle-manager from the sources of the previous release, which it takes from the history of this
// repository, unless what is there was built from the same commit. The target of b is the folder.
func buildPrevious(ctx context.Context, b build) error {
	release, err := previousRelease()
	if err != nil {
		return err
	}
	commit, err := commitOf(ctx, release)
	if err != nil {
		return err
	}
	folder := b.target
	b.target = filepath.Join(folder, "lifecycle-manager")
	mark := filepath.Join(folder, "commit")
	if built, err := os.ReadFile(mark); err == nil && string(built) == commit {
		if _, err := os.Stat(b.target); err == nil {
			b.say("built " + b.name + " before, from commit " + commit)
			return nil
		}
	}
	sources, err := os.MkdirTemp("", "lifecycle-manager-previous-")
	if err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	defer func() { _ = os.RemoveAll(sources) }()
	if err := export(ctx, commit, sources); err != nil {
		return err
	}
	b.module = sources
	// The mark goes first and comes last, so that it is never beside a program of another commit.
	if err := os.RemoveAll(mark); err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	const readable = 0o644
	if err := os.WriteFile(mark, []byte(commit), readable); err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	return nil
}

// previousRelease is what the file says: the one line that is no comment.
func previousRelease() (string, error) {
	content, err := os.ReadFile(previousFile)
	if err != nil {
		return "", fmt.Errorf("find out which release was the previous one: %w", err)
	}
	return releaseIn(string(content))
}

func releaseIn(content string) (string, error) {
	var named []string
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			named = append(named, line)
		}
	}
	if len(named) != 1 {
		return "", fmt.Errorf("%s must name one release, by a tag or the hash of a commit: it has %q", previousFile, named)
	}
	return named[0], nil
}

// commitOf is the hash of the commit of a release.
func commitOf(ctx context.Context, release string) (string, error) {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", release+"^{commit}").Output()
	if err != nil {
		return "", fmt.Errorf("the previous release %s (%s) is not in this repository; a shallow clone gets it by `git fetch --unshallow --tags`: %w", release, previousFile, err)
	}
	return strings.TrimSpace(string(hash)), nil
}

// export writes the files of a commit into a folder.
func export(ctx context.Context, commit, folder string) error {
	var said bytes.Buffer
	archive := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit)
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
