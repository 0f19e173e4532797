package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// firstNotice is when a build that takes time says so first, nextNotices how
	// often it does afterwards.
	firstNotice = 2 * time.Second
	nextNotices = 15 * time.Second
)

// build is the build of one program.
type build struct {
	program
	target string
	say    func(line string)
	now    func() time.Time
}

func (b build) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", b.arguments()...)
	// An interrupted go command stops its compilers and tidies up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	const grace = 10 * time.Second
	cmd.WaitDelay = grace
	messages, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	begin := b.now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	var seen seen
	stopNotices := b.notices(&seen, begin)
	seen.read(messages)
	err = cmd.Wait()
	stopNotices()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: interrupted", b.name)
		}
		return fmt.Errorf("build %s: %w\n%s", b.name, err, strings.Join(seen.problems, "\n"))
	}
	b.say(fmt.Sprintf("built %s in %.1f s", b.name, b.now().Sub(begin).Seconds()))
	return nil
}

func (b build) arguments() []string {
	// Without the version control stamp, equal sources give equal programs.
	// Symbols for debuggers take a third of the time to link, and of the size; stack traces do without them.
	linker := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(b.variables)) {
		linker = append(linker, "-X", name+"="+b.variables[name])
	}
	return []string{"build", "-C", b.module, "-v", "-buildvcs=false", "-ldflags", strings.Join(linker, " "), "-o", b.target, b.source}
}

// notices says now and then how far the build is, until stop is called.
func (b build) notices(seen *seen, begin time.Time) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		timer := time.NewTimer(firstNotice)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				b.say(fmt.Sprintf("building %s: %s, %.0f s so far", b.name, seen, b.now().Sub(begin).Seconds()))
				timer.Reset(nextNotices)
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// seen is what the go command has said so far.
type seen struct {
	mu                   sync.Mutex
	downloaded, compiled int
	// problems are the lines that are neither a download nor a package.
	problems []string
}

func (s *seen) read(messages io.Reader) {
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		s.add(lines.Text())
	}
	// What is too long for a line is no reason to block the build.
	_, _ = io.Copy(io.Discard, messages)
}

// add takes one line: "go: downloading MODULE VERSION", the import path of a
// package that is being compiled (-v), or else what is wrong.
func (s *seen) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		s.downloaded++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		s.compiled++
	default:
		s.problems = append(s.problems, line)
	}
}

// String says how far the build is.
func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	if s.downloaded > 0 {
		parts = append(parts, fmt.Sprintf("%d modules downloaded", s.downloaded))
	}
	if s.compiled > 0 {
		parts = append(parts, fmt.Sprintf("%d packages compiled", s.compiled))
	}
	if len(parts) == 0 {
		// The go command does not say which of the two it does.
		return "all packages are compiled already, linking what has changed"
	}
	return strings.Join(parts, ", ")
}
