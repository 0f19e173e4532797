package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// command is a program with its arguments, as a user could type it.
type command []string

// String is the command as a line for a shell.
func (c command) String() string {
	words := make([]string, 0, len(c))
	for _, word := range c {
		words = append(words, quote(word))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quote makes a text one word of a POSIX shell.
func quote(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// streams are what a command writes to; nil is nothing.
type streams struct {
	out, err io.Writer
}

// run runs the command to its end. A context that ends interrupts it, once, as
// Ctrl-C would: the command is kept out of the terminal's process group, so that
// Ctrl-C reaches this program alone.
func (c command) run(ctx context.Context, s streams) error {
	var problems bytes.Buffer
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Stdout, cmd.Stderr = s.out, s.err
	if s.err == nil {
		cmd.Stderr = &problems
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	const grace = 30 * time.Second
	cmd.WaitDelay = grace
	if err := cmd.Run(); err != nil {
		what := strings.Join(c[:min(len(c), 2)], " ")
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
		if text := strings.TrimSpace(problems.String()); text != "" {
			return fmt.Errorf("%s: %w: %s", filepath.Base(c[0]), err, text)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// output runs the command and returns what it printed.
func (c command) output(ctx context.Context) (string, error) {
	var out bytes.Buffer
	err := c.run(ctx, streams{out: &out})
	return out.String(), err
}
