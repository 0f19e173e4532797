package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Spec says what to start.
type Spec struct {
	// Component is the name under which the fleet knows the process.
	Component string
	// Path is the program, Args are its arguments without the program's name.
	Path string
	Args []string
	// Env is the program's whole environment: it inherits nothing, since many
	// programs take settings from variables that a user may have set.
	Env []string
	// Dir is the working directory; empty for that of the caller.
	Dir string
	// LogPath is the file to which standard output and standard error are
	// appended.
	LogPath string
}

// ExitedError says that a started process ended although it was to stay. Its
// text leaves naming the component to those who wrap it.
type ExitedError struct {
	Component string
	// Status is how it ended, like "exit status 1".
	Status string
}

func (e *ExitedError) Error() string {
	return "its process ended: " + e.Status
}

// Launcher starts processes that outlive their starter.
//
// It does not start the program itself but a shim, which writes its own record
// and then becomes the program, keeping process id and start time. So there is
// no instant at which a program runs without a record, even if the starter is
// killed.
type Launcher struct {
	Records Records
	// Shim is the command that calls BecomeRecorded with the arguments that
	// follow.
	Shim []string
}

// Process is a process that this very program started.
type Process struct {
	Record
	exited chan struct{}
	status string
}

// Start starts the program detached from the terminal and from this process,
// and returns once its record is written. The program itself may not have begun
// to run by then.
func (l Launcher) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.LogPath), 0o700); err != nil {
		return nil, fmt.Errorf("create the log folder of %s: %w", spec.Component, err)
	}
	log, err := os.OpenFile(spec.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Component, err)
	}
	defer func() { _ = log.Close() }()
	if err := l.Records.Remove(spec.Component); err != nil {
		return nil, err
	}

	arguments := append(append([]string{}, l.Shim[1:]...),
		l.Records.Path(spec.Component), spec.Component, spec.Path)
	// Not exec.CommandContext: the end of the start must not end the program.
	cmd := exec.Command(l.Shim[0], append(arguments, spec.Args...)...)
	cmd.Env = append([]string{}, spec.Env...)
	cmd.Dir = spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Component, err)
	}
	process := &Process{exited: make(chan struct{})}
	// Collects the exit status while this program runs; after that the process
	// belongs to init.
	go func() {
		err := cmd.Wait()
		process.status = "exit status 0"
		if err != nil {
			process.status = err.Error()
		}
		close(process.exited)
	}()
	process.Record, err = l.awaitRecord(ctx, spec.Component, cmd.Process.Pid, process.exited)
	if err != nil {
		_ = cmd.Process.Kill()
		<-process.exited
		return nil, errors.Join(err, l.Records.Remove(spec.Component))
	}
	return process, nil
}

func (l Launcher) awaitRecord(ctx context.Context, component string, pid int, exited <-chan struct{}) (Record, error) {
	for {
		record, err := l.Records.Read(component)
		if err == nil && record.PID == pid {
			return record, nil
		}
		select {
		case <-exited:
			return Record{}, fmt.Errorf("start %s: it ended before it was recorded", component)
		case <-ctx.Done():
			return Record{}, fmt.Errorf("start %s: %w", component, context.Cause(ctx))
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Exited returns an *ExitedError when the process has ended, else nil.
func (p *Process) Exited() error {
	select {
	case <-p.exited:
		return &ExitedError{Component: p.Component, Status: p.status}
	default:
		return nil
	}
}

// BecomeRecorded is the shim's whole work: it writes a record of the present
// process to a file and then replaces the present program by the given one. It
// takes the arguments that Launcher passes (record file, component, program,
// program's arguments) and returns only on failure.
func BecomeRecorded(arguments []string) error {
	if len(arguments) < 3 {
		return fmt.Errorf("want record file, component and program, got %q", strings.Join(arguments, " "))
	}
	path, component, command := arguments[0], arguments[1], arguments[2:]
	identity, err := Identify(os.Getpid())
	if err != nil {
		return err
	}
	record := Record{Identity: identity, Component: component, Command: command, StartedAt: time.Now().UTC()}
	if err := writeRecord(path, record); err != nil {
		return err
	}
	if err := syscall.Exec(command[0], command, os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", command[0], err)
	}
	return nil
}
