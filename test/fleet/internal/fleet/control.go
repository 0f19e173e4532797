package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// AddRemotes brings up remote clusters with the given names while the fleet is
// up. One that is there already is only seen to run.
func (f *Fleet) AddRemotes(ctx context.Context, names []string) ([]ClusterInfo, error) {
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, err
		}
		if name == state.ControlPlane {
			return nil, fmt.Errorf("%s is not a remote cluster", name)
		}
	}
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, name := range names {
		if f.state.Cluster(name) == nil {
			f.state.Clusters = append(f.state.Clusters, state.Cluster{Name: name})
		}
	}
	if err := f.save(); err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error { return f.ensureCluster(ctx, name) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var infos []ClusterInfo
	for _, name := range names {
		cluster, err := f.cluster(name)
		if err != nil {
			return nil, err
		}
		infos = append(infos, clusterInfo(cluster))
	}
	return infos, nil
}

// RemoveRemotes stops remote clusters and removes all that they have. One that
// is not there is no error.
func (f *Fleet) RemoveRemotes(ctx context.Context, names []string) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, name := range names {
		if name == state.ControlPlane {
			return fmt.Errorf("%s is not a remote cluster", name)
		}
		if f.state.Cluster(name) == nil {
			continue
		}
		if err := f.stopCluster(ctx, name, stopGrace); err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(f.Folder.Cluster(name)), os.RemoveAll(f.Folder.ClusterLogs(name))); err != nil {
			return fmt.Errorf("remove cluster %s: %w", name, err)
		}
		f.state.RemoveCluster(name)
		if err := f.save(); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops one component, or all of a cluster when given its name. With kill
// it does not get the chance to end by itself.
func (f *Fleet) Stop(ctx context.Context, target string, kill bool) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	grace := stopGrace
	if kill {
		grace = 0
	}
	if f.state.Cluster(target) != nil {
		return f.stopCluster(ctx, target, grace)
	}
	component, err := f.component(target)
	if err != nil {
		return err
	}
	return f.Launcher.Records.Stop(ctx, component.name, grace)
}

// Start starts one component, or all of a cluster when given its name, with the
// ports and the data that it had, and waits until it is ready.
func (f *Fleet) Start(ctx context.Context, target string) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f.startLocked(ctx, target)
}

// startLocked is Start for who has the lock.
func (f *Fleet) startLocked(ctx context.Context, target string) error {
	switch {
	case target == temporalComponent:
		return f.ensureTemporal(ctx, false)
	case target == registryComponent:
		return f.ensureRegistry(ctx)
	case f.state.Cluster(target) != nil:
		return f.ensureCluster(ctx, target)
	}
	component, err := f.component(target)
	if err != nil {
		return err
	}
	cluster, program, _ := strings.Cut(target, "/")
	if needed := needs(program); needed != "" && !f.running(inCluster(cluster, needed)) {
		return fmt.Errorf("%s needs %s, which is not running: start that first", target, inCluster(cluster, needed))
	}
	var wanted []*state.Port
	if program == kube.APIServer {
		wanted = f.portOfAPIServer(cluster)
	}
	begin := f.Progress.Now()
	if component.ready == nil {
		component.ready = settle(f.Progress.Now)
	}
	err = f.withPorts(target, true, wanted, func() error { return f.run(ctx, component) })
	if err != nil {
		return err
	}
	f.Progress.Printf("%s is ready (%s)", target, f.Progress.Since(begin))
	return nil
}

// needs is the program without which another does not start.
func needs(program string) string {
	switch program {
	case kube.Etcd:
		return ""
	case kube.APIServer:
		return kube.Etcd
	default:
		return kube.APIServer
	}
}

// settle is the readiness of programs that answer nobody: that they did not end
// at once.
func settle(now func() time.Time) func(context.Context) error {
	begin := now()
	return func(context.Context) error {
		if now().Sub(begin) < time.Second {
			return errors.New("just started")
		}
		return nil
	}
}

// Pause makes one component, or all of a cluster, pause: its connections
// stay open, and nothing answers. Resume continues it.
func (f *Fleet) Pause(ctx context.Context, target string) error {
	return f.signal(ctx, target, syscall.SIGSTOP)
}

// Resume ends what Pause began.
func (f *Fleet) Resume(ctx context.Context, target string) error {
	return f.signal(ctx, target, syscall.SIGCONT)
}

func (f *Fleet) signal(ctx context.Context, target string, signal syscall.Signal) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	components, err := f.components()
	if err != nil {
		return err
	}
	var found bool
	for _, component := range components {
		if component.name != target && !strings.HasPrefix(component.name, target+"/") {
			continue
		}
		found = true
		record, err := f.Launcher.Records.Running(component.name)
		if err != nil {
			return err
		}
		if err := record.Signal(signal); err != nil {
			return fmt.Errorf("%s: %w", component.name, err)
		}
	}
	if !found {
		return f.unknown(target, components)
	}
	return nil
}

// ResetTemporal stops Temporal, throws its database away and starts it again,
// empty, on the same ports.
func (f *Fleet) ResetTemporal(ctx context.Context) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.Launcher.Records.Stop(ctx, temporalComponent, stopGrace); err != nil {
		return err
	}
	server := f.temporal()
	if err := server.RemoveData(); err != nil {
		return err
	}
	return f.ensureTemporal(ctx, true)
}

func (f *Fleet) lockLoaded(ctx context.Context) (unlock func(), err error) {
	if !f.Folder.Exists() {
		return nil, fmt.Errorf("%s: %w", f.Folder.Path, state.ErrNotAFleet)
	}
	unlock, err = f.lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.load(); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func (f *Fleet) component(name string) (component, error) {
	components, err := f.components()
	if err != nil {
		return component{}, err
	}
	for _, component := range components {
		if component.name == name {
			return component, nil
		}
	}
	return component{}, f.unknown(name, components)
}

func (f *Fleet) unknown(name string, components []component) error {
	known := append([]string{state.ControlPlane}, f.state.Remotes()...)
	for _, component := range components {
		known = append(known, component.name)
	}
	slices.Sort(known)
	return fmt.Errorf("there is no component %q, only %s", name, strings.Join(known, ", "))
}
