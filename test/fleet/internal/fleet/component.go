package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

const (
	// readyTimeout is generous: a busy machine starts slowly, and a program that
	// fails ends by itself and is noticed at once.
	readyTimeout = 5 * time.Minute
	// probeTimeout bounds one readiness probe.
	probeTimeout = 5 * time.Second
	// probePause is the time between two probes.
	probePause = 50 * time.Millisecond
	// portAttempts is how often other ports are chosen when the chosen ones were
	// taken by others before the program had them.
	portAttempts = 5
)

// ComponentError is the failure of one component, whose log has details.
type ComponentError struct {
	Component string
	// Log is the path of the component's log.
	Log string
	Err error
}

func (e *ComponentError) Error() string { return fmt.Sprintf("%s: %v", e.Component, e.Err) }

func (e *ComponentError) Unwrap() error { return e.Err }

// component is something to run.
type component struct {
	name string
	path string
	args []string
	env  []string
	// dir is the working directory; empty for that of the caller.
	dir string
	// ready returns nil when the program does its work.
	ready func(context.Context) error
}

// run starts the component unless it runs, and waits until it is ready.
func (f *Fleet) run(ctx context.Context, c component) error {
	running, err := f.start(ctx, c)
	if err != nil {
		return err
	}
	return f.await(ctx, c.name, c.ready, running)
}

// watched is a process and a way to see that it has ended.
type watched func() error

// start starts the component unless it runs.
func (f *Fleet) start(ctx context.Context, c component) (watched, error) {
	if c.path == "" {
		return nil, f.failed(c.name, errors.New("its program was not built"))
	}
	_, err := f.Launcher.Records.Running(c.name)
	if err == nil {
		return func() error {
			_, err := f.Launcher.Records.Running(c.name)
			return err
		}, nil
	}
	if !errors.Is(err, process.ErrGone) {
		return nil, f.failed(c.name, err)
	}
	started, err := f.Launcher.Start(ctx, process.Spec{
		Component: c.name, Path: c.path, Args: c.args, Env: f.environment(c.env...), Dir: c.dir, LogPath: f.Folder.Log(c.name),
	})
	if err != nil {
		return nil, f.failed(c.name, err)
	}
	return started.Exited, nil
}

// await polls until ready returns nil. It fails when one of the processes ends,
// and when it takes too long.
func (f *Fleet) await(ctx context.Context, name string, ready func(context.Context) error, running ...watched) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	for {
		probe, stop := context.WithTimeout(ctx, probeTimeout)
		err := ready(probe)
		stop()
		// Whatever answered, it was not a process that has ended.
		for _, check := range running {
			if ended := check(); ended != nil {
				return f.failed(endedComponent(ended, name), ended)
			}
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return f.failed(name, fmt.Errorf("%w: %w", context.Cause(ctx), err))
		case <-time.After(probePause):
		}
	}
}

// endedComponent names the component whose process has ended.
func endedComponent(err error, fallback string) string {
	var exited *process.ExitedError
	if errors.As(err, &exited) {
		return exited.Component
	}
	return fallback
}

func (f *Fleet) failed(component string, err error) error {
	return &ComponentError{Component: component, Log: f.Folder.Log(component), Err: err}
}

// withPorts gives the ports numbers and calls start, again with others when a
// port was lost to another program. Ports that clients already know (settled)
// and ports that the user fixed are never changed.
func (f *Fleet) withPorts(name string, settled bool, wanted []*state.Port, start func() error) error {
	for attempt := 1; ; attempt++ {
		if err := f.choose(name, settled, wanted); err != nil {
			return err
		}
		err := start()
		var exited *process.ExitedError
		if err == nil || !errors.As(err, &exited) || settled || attempt == portAttempts || !anyTaken(wanted) {
			return err
		}
		f.Progress.Printf("%s: a chosen port was taken by another program, choosing others", name)
	}
}

// releaseTime is how long a component's port is waited for when it comes back.
const releaseTime = 5 * time.Second

// choose gives every port a number that is free right now.
func (f *Fleet) choose(name string, settled bool, wanted []*state.Port) error {
	for _, port := range wanted {
		f.mu.Lock()
		number := port.Number
		f.mu.Unlock()
		if number != 0 {
			err := ports.Check(number)
			if err != nil && settled {
				// The component itself, which listened there until just now, may still be on its way out.
				err = ports.AwaitFree(number, releaseTime)
			}
			if err == nil {
				continue
			}
			if settled || port.Fixed {
				return fmt.Errorf("%s: port %d cannot be used: %w", name, number, err)
			}
		}
		number, err := f.chooser.Choose()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.mu.Lock()
		port.Number = number
		f.mu.Unlock()
	}
	return f.save()
}

func anyTaken(wanted []*state.Port) bool {
	for _, port := range wanted {
		if !port.Fixed && ports.Check(port.Number) != nil {
			return true
		}
	}
	return false
}
