package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

// UpOptions say what a fleet is to consist of.
type UpOptions struct {
	// Name is for people.
	Name string
	// Remotes is how many remote clusters there are at least. They are called
	// remote-1, remote-2 and so on.
	Remotes int
	// RegistryAuth makes the registry ask for a user and a password.
	RegistryAuth bool
	// WithoutTemporal omits the Temporal server, WithoutRegistry the registry.
	WithoutTemporal, WithoutRegistry bool
	// OldestTemporal takes the oldest release of Temporal that the product supports.
	OldestTemporal bool
	// Fixed ports; 0 leaves the choice to the fleet.
	TemporalPort, TemporalUIPort, RegistryPort, ControlPlanePort int
	// OwnerPID is the process with which the fleet ends, or 0.
	OwnerPID int
}

// Up brings the fleet up. What runs already stays unchanged, so it also finishes
// what an interrupted Up has begun. When a component fails, or the context ends
// while components start, nothing of the fleet runs afterwards.
func (f *Fleet) Up(ctx context.Context, builder programs.Builder, options UpOptions) error {
	if options.Remotes < 0 || options.Remotes > maxRemotes {
		return fmt.Errorf("--remotes %d: want 0 to %d", options.Remotes, maxRemotes)
	}
	owner, err := identifyOwner(options.OwnerPID)
	if err != nil {
		return err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.loadOrCreate(options.Name); err != nil {
		return err
	}
	if err := f.apply(options); err != nil {
		return err
	}
	var optional []string
	if !f.state.WithoutRegistry {
		optional = append(optional, programs.Registry)
	}
	if f.state.Temporal.Oldest {
		optional = append(optional, programs.OldestTemporal)
	}
	f.state.Binaries, err = builder.Ensure(ctx, optional...)
	if err != nil {
		return err
	}
	if err := f.save(); err != nil {
		return err
	}
	if err := f.startAll(ctx, owner); err != nil {
		if ctx.Err() != nil {
			f.Progress.Printf("interrupted, stopping everything")
		} else {
			f.Progress.Printf("failed, stopping everything")
		}
		return errors.Join(err, f.stopAll(context.WithoutCancel(ctx)))
	}
	return nil
}

// maxRemotes is far more than a machine can run, and stops slips of the finger.
const maxRemotes = 200

func (f *Fleet) startAll(ctx context.Context, owner *process.Identity) error {
	// First of all, so that nothing is ever started that nobody would stop.
	if err := f.supervise(ctx, owner); err != nil {
		return err
	}
	names := append([]string{state.ControlPlane}, f.state.Remotes()...)
	started := slices.Clone(names)
	if !f.state.WithoutTemporal {
		started = append(started, "Temporal")
	}
	if !f.state.WithoutRegistry {
		started = append(started, "a registry")
	}
	f.Progress.Printf("starting %s; state and logs are in %s", strings.Join(started, ", "), f.Folder.Path)
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error { return f.ensureCluster(ctx, name) })
	}
	if !f.state.WithoutTemporal {
		group.Go(func() error { return f.ensureTemporal(ctx, false) })
	}
	if !f.state.WithoutRegistry {
		group.Go(func() error { return f.ensureRegistry(ctx) })
	}
	return group.Wait()
}

// apply takes the options into the state.
func (f *Fleet) apply(options UpOptions) error {
	names := []string{state.ControlPlane}
	for i := range options.Remotes {
		names = append(names, "remote-"+strconv.Itoa(i+1))
	}
	for _, name := range names {
		if f.state.Cluster(name) == nil {
			f.state.Clusters = append(f.state.Clusters, state.Cluster{Name: name})
		}
	}
	if options.RegistryAuth && f.state.Registry.Username == "" {
		if exists(f.Folder.Registry()) {
			return errors.New("this fleet's registry was made without a password: take the fleet down first")
		}
		f.state.Registry.Username, f.state.Registry.Password = registryUser, rand.Text()
	}
	if options.WithoutTemporal && exists(f.Folder.Temporal()) {
		return errors.New("this fleet has a Temporal server: take the fleet down first")
	}
	if options.OldestTemporal && !f.state.Temporal.Oldest && exists(f.Folder.Temporal()) {
		return errors.New("this fleet's Temporal server is of a later release: take the fleet down first")
	}
	f.state.Temporal.Oldest = f.state.Temporal.Oldest || options.OldestTemporal
	if options.WithoutRegistry && exists(f.Folder.Registry()) {
		return errors.New("this fleet has a registry: take the fleet down first")
	}
	f.state.WithoutTemporal, f.state.WithoutRegistry = options.WithoutTemporal, options.WithoutRegistry
	return errors.Join(
		fix("--control-plane-port", &f.state.Cluster(state.ControlPlane).APIServer, options.ControlPlanePort),
		fix("--temporal-port", &f.state.Temporal.Frontend, options.TemporalPort),
		fix("--temporal-ui-port", &f.state.Temporal.UI, options.TemporalUIPort),
		fix("--registry-port", &f.state.Registry.HTTP, options.RegistryPort),
	)
}

// fix takes a port that the user asked for.
func fix(flag string, port *state.Port, number int) error {
	switch {
	case number == 0 || number == port.Number:
		port.Fixed = port.Fixed || number != 0
		return nil
	case number < 0 || number > 65535:
		return fmt.Errorf("%s %d: want a port from 1 to 65535", flag, number)
	case port.Number != 0:
		return fmt.Errorf("%s %d: this fleet uses port %d: take it down first", flag, number, port.Number)
	}
	*port = state.Port{Number: number, Fixed: true}
	return nil
}

// identifyOwner returns nil without an owner.
func identifyOwner(pid int) (*process.Identity, error) {
	if pid == 0 {
		return nil, nil
	}
	owner, err := process.Identify(pid)
	if err != nil {
		return nil, fmt.Errorf("--owner-pid %d: %w", pid, err)
	}
	return &owner, nil
}

// supervise starts the supervisor that ends the fleet when the owner has ended.
// A fleet has the owner that the last Up gave it, or none.
func (f *Fleet) supervise(ctx context.Context, owner *process.Identity) error {
	if err := f.Launcher.Records.Stop(ctx, supervisorComponent, stopGrace); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start the supervisor: %w", err)
	}
	_, err = f.start(ctx, component{
		name: supervisorComponent, path: program,
		args: []string{
			"supervise", "--state-dir", f.Folder.Path,
			"--owner-pid", strconv.Itoa(owner.PID), "--owner-start", owner.StartTime,
		},
	})
	return err
}
