package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// keepCommand is the first argument that makes this program a keeper: it runs
// another program for as long as its standard input stays open. The demo keeps
// the other end, which the system closes when the demo ends, however it ends; so
// nothing stays behind.
const keepCommand = "keep"

// stopGrace is how long a program may take to end before it is killed.
const stopGrace = 25 * time.Second

// keep is the keeper; it returns the exit code of the program.
func keep(args []string) int {
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(released)
	}()
	select {
	case err := <-ended:
		return exitCode(err)
	case <-released:
	}
	// One that has ended meanwhile needs no signal.
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		return exitCode(err)
	case <-time.After(stopGrace):
		_ = cmd.Process.Kill()
		return exitCode(<-ended)
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	default:
		return exitFailed
	}
}

// kept is a program that runs beside the demo.
type kept struct {
	name, log string
	stdin     io.Closer
	// ended is closed once the program has ended; err then says how.
	ended chan struct{}
	err   error
}

// keepRunning starts a program whose output goes into the file log.
func keepRunning(name, log string, environment []string, c command) (*kept, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start %s: find this program: %w", name, err)
	}
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: open its log: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the program has its own handle
	cmd := exec.Command(self, append([]string{keepCommand}, c...)...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	k := &kept{name: name, log: log, stdin: stdin, ended: make(chan struct{})}
	go func() {
		k.err = cmd.Wait()
		close(k.ended)
	}()
	return k, nil
}

// stop ends the program and waits for its end.
func (k *kept) stop() {
	_ = k.stdin.Close() // closed already when the program has ended
	<-k.ended
}

// failure is the error of a program that ended before it was stopped.
func (k *kept) failure() error {
	return fmt.Errorf("%s has ended (%w), the end of its log %s:\n%s", k.name, orEnded(k.err), k.log, lastLines(k.log, logLines))
}

var errEnded = errors.New("without an error")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// logLines is how much of a log an error shows.
const logLines = 15

// lastLines is the end of a text file; of a file that cannot be read, why.
func lastLines(path string, count int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
