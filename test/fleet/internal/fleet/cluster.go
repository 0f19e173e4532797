package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// ensureCluster brings a cluster up, or up again.
func (f *Fleet) ensureCluster(ctx context.Context, name string) error {
	begin := f.Progress.Now()
	cluster, err := f.cluster(name)
	if err != nil {
		return err
	}
	settled := exists(cluster.Complete())
	if !settled {
		if err := f.stopCluster(ctx, name, 0); err != nil {
			return err
		}
		err := errors.Join(cluster.RemoveData(), cluster.MakeFolders(), cluster.WriteCertificates(time.Now()))
		if err != nil {
			return err
		}
	}
	err = f.withPorts(name, settled, f.clusterPorts(name), func() error {
		err := f.startCluster(ctx, name)
		if err != nil && !settled {
			return errors.Join(err, f.stopCluster(ctx, name, 0))
		}
		return err
	})
	if err != nil {
		return err
	}
	cluster, err = f.cluster(name)
	if err != nil {
		return err
	}
	if err := markComplete(cluster.Complete()); err != nil {
		return err
	}
	f.Progress.Printf("%s is ready at %s (%s)", name, cluster.Server(), f.Progress.Since(begin))
	return nil
}

// clusterPorts are the ports of the cluster that have to be free: those of
// programs that do not run.
func (f *Fleet) clusterPorts(name string) []*state.Port {
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster := f.state.Cluster(name)
	var wanted []*state.Port
	for program, port := range map[string]*state.Port{kube.Etcd: &cluster.Etcd, kube.APIServer: &cluster.APIServer} {
		if !f.running(inCluster(name, program)) {
			wanted = append(wanted, port)
		}
	}
	return wanted
}

func (f *Fleet) startCluster(ctx context.Context, name string) error {
	cluster, err := f.cluster(name)
	if err != nil {
		return err
	}
	if err := cluster.WriteKubeconfig(); err != nil {
		return err
	}
	client, err := cluster.Client()
	if err != nil {
		return err
	}
	components := clusterComponents(cluster, client)
	var running []watched
	for _, component := range components {
		started, err := f.start(ctx, component)
		if err != nil {
			return err
		}
		running = append(running, started)
		if component.ready == nil {
			continue
		}
		if err := f.await(ctx, component.name, component.ready, running...); err != nil {
			return err
		}
	}
	makeAndWork := func(ctx context.Context) error {
		if err := client.CreateAccess(ctx); err != nil {
			return err
		}
		return client.Working(ctx)
	}
	if err := f.await(ctx, inCluster(name, kube.ControllerManager), makeAndWork, running...); err != nil {
		return err
	}
	return cluster.WriteAccess(ctx, client)
}

// clusterComponents are the cluster's components in the order of their start.
// Those without a readiness of their own are judged by what they do together.
func clusterComponents(cluster kube.Cluster, client *kube.Client) []component {
	ready := map[string]func(context.Context) error{
		kube.Etcd:      func(ctx context.Context) error { return reachable(ctx, cluster.Etcd.Number) },
		kube.APIServer: client.ServerReady,
	}
	var components []component
	for _, program := range cluster.Programs() {
		components = append(components, component{
			name: inCluster(cluster.Name, program.Name), path: cluster.Binaries[program.Name],
			args: program.Args, env: program.Env, ready: ready[program.Name],
		})
	}
	return components
}

// inCluster is the component's name of a cluster's program.
func inCluster(cluster, program string) string { return cluster + "/" + program }

func (f *Fleet) running(component string) bool {
	_, err := f.Launcher.Records.Running(component)
	return !errors.Is(err, process.ErrGone)
}

// reachable returns nil when something accepts connections on the port.
func reachable(ctx context.Context, port int) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", ports.Address(port))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return connection.Close()
}
