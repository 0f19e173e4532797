package fleet

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

// ensureTemporal brings the Temporal server up, or up again. With keepPorts it
// never chooses others, even when its database is new.
func (f *Fleet) ensureTemporal(ctx context.Context, keepPorts bool) error {
	begin := f.Progress.Now()
	server := f.temporal()
	complete := exists(server.Complete())
	if !complete {
		if err := f.Launcher.Records.Stop(ctx, temporalComponent, 0); err != nil {
			return err
		}
		if err := server.RemoveData(); err != nil {
			return err
		}
	}
	if err := server.MakeFolders(); err != nil {
		return err
	}
	// An empty database on known ports: clients are waiting there.
	settled := complete || keepPorts
	var wanted []*state.Port
	if !f.running(temporalComponent) {
		t := &f.state.Temporal
		wanted = []*state.Port{&t.Frontend, &t.UI, &t.HTTP, &t.Metrics}
	}
	err := f.withPorts(temporalComponent, settled, wanted, func() error {
		return f.run(ctx, f.temporalComponent())
	})
	if err != nil {
		return err
	}
	server = f.temporal()
	if err := markComplete(server.Complete()); err != nil {
		return err
	}
	f.Progress.Printf("Temporal is ready at %s, its UI at %s (%s)", server.Address(), server.UIURL(), f.Progress.Since(begin))
	return nil
}

func (f *Fleet) temporalComponent() component {
	server := f.temporal()
	return component{
		name: temporalComponent, path: f.temporalProgram(), args: server.Args(), env: server.Env(), ready: server.Ready,
	}
}

// temporalProgram is the path of the Temporal server, which is Temporal's command line too.
func (f *Fleet) temporalProgram() string {
	if f.state.Temporal.Oldest {
		return f.state.Binaries[programs.OldestTemporal]
	}
	return f.state.Binaries["temporal"]
}

// ensureRegistry brings the registry up, or up again.
func (f *Fleet) ensureRegistry(ctx context.Context) error {
	begin := f.Progress.Now()
	settled := exists(f.Folder.Registry())
	var wanted []*state.Port
	if !f.running(registryComponent) {
		wanted = []*state.Port{&f.state.Registry.HTTP}
	}
	err := f.withPorts(registryComponent, settled, wanted, func() error {
		server := f.registry()
		if err := server.Prepare(); err != nil {
			return err
		}
		return f.run(ctx, f.registryComponent())
	})
	if err != nil {
		return err
	}
	f.Progress.Printf("the registry is ready at %s (%s)", f.registry().URL(), f.Progress.Since(begin))
	return nil
}

func (f *Fleet) registryComponent() component {
	server := f.registry()
	return component{
		name: registryComponent, path: f.state.Binaries[programs.Registry], args: server.Args(), env: server.Env(), ready: server.Ready,
	}
}
