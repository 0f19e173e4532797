package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

// Snapshot saves what a cluster's etcd has stored in a file, while the cluster works.
func (f *Fleet) Snapshot(ctx context.Context, builder programs.Builder, name, file string) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	cluster, err := f.cluster(name)
	if err != nil {
		return err
	}
	return f.finish(ctx, builder, cluster, cluster.SaveSnapshot(file))
}

// Restore stops a cluster, puts a snapshot in the place of what its etcd has stored, and starts it again. Everything
// that was written after the snapshot is lost. See kube.Cluster.RestoreSnapshot for bump.
func (f *Fleet) Restore(ctx context.Context, builder programs.Builder, name, file string, bump uint64) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	cluster, err := f.cluster(name)
	if err != nil {
		return err
	}
	// One that was interrupted left it behind, and the program wants to make it.
	if err := os.RemoveAll(cluster.RestoredData()); err != nil {
		return fmt.Errorf("restore cluster %s: %w", name, err)
	}
	if err := f.finish(ctx, builder, cluster, cluster.RestoreSnapshot(file, bump)); err != nil {
		return err
	}
	if err := f.stopCluster(ctx, name, stopGrace); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(cluster.EtcdData()), os.Rename(cluster.RestoredData(), cluster.EtcdData())); err != nil {
		return fmt.Errorf("restore cluster %s: %w", name, err)
	}
	return f.ensureCluster(ctx, name)
}

// finish runs an optional program of a cluster to its end, and builds it first if it is missing.
func (f *Fleet) finish(ctx context.Context, builder programs.Builder, cluster kube.Cluster, program kube.Program) error {
	built, err := builder.Ensure(ctx, program.Name)
	if err != nil {
		return err
	}
	path := built[program.Name]
	cmd := exec.CommandContext(ctx, path, program.Args...)
	cmd.Dir = cluster.Dir
	cmd.Env = f.environment(program.Env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(path), program.Args[0], err, output)
	}
	return nil
}
