package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// settings are what the user chose.
type settings struct {
	exitWhenReady bool
	// tour is the name of the tour to show; none where it is empty.
	tour    string
	timeout time.Duration
	uiPort  int
	// folder and programs are the folders of what the demo keeps and of the
	// built programs, absolute or relative to the working folder.
	folder, programs string
}

// demo is a running demo.
type demo struct {
	settings
	*speaker
	fleet fleet
	// registry is the host and port of the registry, which is part of this process.
	registry string
	// controlPlane and remote are clients of the two clusters.
	controlPlane, remote *access
	// hasAgent is set if the agent of the remote cluster can run here.
	hasAgent bool
	// running are the programs beside the demo, in the order of their start.
	running []*kept
	manager *kept
	// managerProbe is the URL by which Lifecycle Manager says that it is ready.
	managerProbe string
}

// run is the demo from beginning to end. Whatever it came to, nothing of it runs
// afterwards.
func run(ctx context.Context, s settings) error {
	d := &demo{settings: s, speaker: newSpeaker(os.Stderr, time.Now)}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder for the demo's state: %w", err)
	}
	unlock, err := lock(d.path("lock"))
	if err != nil {
		return err
	}
	defer unlock()
	err = d.show(ctx)
	return errors.Join(err, d.takeDown(context.WithoutCancel(ctx)))
}

func (d *demo) show(ctx context.Context) error {
	a := d.act()
	if err := d.startRegistry(ctx); err != nil {
		return err
	}
	if a.withAgent {
		d.checkAgent()
	}
	// Modules need nothing but the registry, so they are pushed while the clusters start.
	beside, besideCtx := errgroup.WithContext(ctx)
	beside.Go(func() error { return a.push(besideCtx) })
	err := d.bringUpFleet(ctx)
	if err := errors.Join(err, beside.Wait()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var agent sync.WaitGroup
	defer agent.Wait()
	defer cancel()
	if d.hasAgent {
		agent.Go(func() { d.runAgent(ctx) })
	}
	for _, step := range append([]step{d.prepareControlPlane, d.startManager}, append(a.prepare, d.waitForManager)...) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if d.exitWhenReady {
		return a.all(ctx)
	}
	// The user may want to inspect also what did not work.
	failure := a.all(ctx)
	if failure != nil {
		if ctx.Err() != nil {
			return failure
		}
		d.say("%v", failure)
	}
	if err := a.explain(ctx); err != nil {
		return errors.Join(failure, err)
	}
	return errors.Join(failure, d.stay(ctx))
}

// showModules waits for the Kyma's modules. Then, from inside the remote cluster, it enables one more, and for a while
// one that fails.
func (d *demo) showModules(ctx context.Context) error {
	for _, step := range []step{d.untilReady, d.enableFromInside, d.untilReady, d.showDeployments, d.showFailure, d.untilReady} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("all is Ready")
	return nil
}

// stay shows the tree whenever it changes, until Ctrl-C.
func (d *demo) stay(ctx context.Context) error {
	ctx, cancel := d.whileManaged(ctx)
	defer cancel()
	err := d.treeCommand("--watch").run(ctx, streams{out: os.Stdout})
	select {
	case <-d.manager.ended:
		return d.manager.failure()
	default:
	}
	if ctx.Err() != nil {
		return nil // Ctrl-C is how the demo ends
	}
	return err
}

// whileManaged is a context that ends also with Lifecycle Manager, which is the cause then.
func (d *demo) whileManaged(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-d.manager.ended:
			cancel(d.manager.failure())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// takeDown stops all that the demo has started.
func (d *demo) takeDown(ctx context.Context) error {
	d.say("stopping everything; logs stay in %s", d.folder)
	for i := len(d.running) - 1; i >= 0; i-- {
		d.running[i].stop()
	}
	return d.takeDownFleet(ctx)
}

// path is a file in the demo's folder.
func (d *demo) path(name string) string { return filepath.Join(d.folder, name) }

// program is the path of one of our programs.
func (d *demo) program(name string) string { return filepath.Join(d.programs, name) }

// startKept runs a program beside the demo.
func (d *demo) startKept(name string, environment []string, c command) (*kept, error) {
	k, err := keepRunning(name, d.path(name+".log"), environment, c)
	if err == nil {
		d.running = append(d.running, k)
	}
	return k, err
}
