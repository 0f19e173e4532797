package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
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
	err = f.withPorts(name, settled, f.portOfAPIServer(name), func() error {
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

// portOfAPIServer is the port of a cluster that has to be free: none if its API server runs.
func (f *Fleet) portOfAPIServer(name string) []*state.Port {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running(inCluster(name, kube.APIServer)) {
		return nil
	}
	return []*state.Port{&f.state.Cluster(name).APIServer}
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
	ready := map[string]func(context.Context) error{kube.Etcd: cluster.EtcdListens, kube.APIServer: client.ServerReady}
	var components []component
	for _, program := range cluster.Programs() {
		components = append(components, component{
			name: inCluster(cluster.Name, program.Name), path: cluster.Binaries[program.Name],
			args: program.Args, env: program.Env, dir: cluster.Dir, ready: ready[program.Name],
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
