package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
)

// stopGrace is how long a program may take to end before it is killed.
const stopGrace = 10 * time.Second

// Down stops everything that the fleet has running and, unless its data are to
// be kept for the next Up, removes all that it has. It needs nothing but the
// process records, so it works on a fleet in any condition. It reports whether
// there was anything to take down.
func (f *Fleet) Down(ctx context.Context, keepData bool) (bool, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if !f.Folder.Exists() {
		return false, nil
	}
	if err := f.stopAll(ctx); err != nil {
		return true, err
	}
	if keepData {
		return true, nil
	}
	return true, f.Folder.Remove()
}

// stopAll stops every recorded process but the one that calls it: first those
// that use others, last those that are used.
func (f *Fleet) stopAll(ctx context.Context) error {
	records, errs := f.Launcher.Records.List()
	for phase := range stopPhases {
		var components []string
		for _, record := range records {
			if stopPhase(record.Component) == phase && record.PID != os.Getpid() {
				components = append(components, record.Component)
			}
		}
		errs = errors.Join(errs, f.stopTogether(ctx, components, stopGrace))
	}
	return errs
}

const stopPhases = 3

func stopPhase(component string) int {
	switch {
	case strings.HasSuffix(component, "/"+kube.Etcd):
		return 2
	case strings.HasSuffix(component, "/"+kube.APIServer):
		return 1
	default:
		return 0
	}
}

func (f *Fleet) stopTogether(ctx context.Context, components []string, grace time.Duration) error {
	errs := make([]error, len(components))
	var group sync.WaitGroup
	for i, component := range components {
		group.Go(func() { errs[i] = f.Launcher.Records.Stop(ctx, component, grace) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// stopCluster stops the programs of a cluster in reverse order.
func (f *Fleet) stopCluster(ctx context.Context, name string, grace time.Duration) error {
	for _, program := range []string{kube.ControllerManager, kube.APIServer, kube.Etcd} {
		if err := f.Launcher.Records.Stop(ctx, inCluster(name, program), grace); err != nil {
			return err
		}
	}
	return nil
}

// Supervise waits for the end of the owner and then takes the fleet down. Until then it starts again what ends by itself, as a
// kubelet does with the components of a control plane.
func (f *Fleet) Supervise(ctx context.Context, owner process.Identity) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for owner.Alive() {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.reviveEnded(ctx)
		}
	}
	f.Progress.Printf("the owner, process %d, has ended: taking the fleet down", owner.PID)
	// A command that works on the fleet finishes first, or dies with its
	// owner: in both cases the lock comes free.
	if _, err := f.Down(ctx, false); err != nil {
		return fmt.Errorf("take the fleet down: %w", err)
	}
	return nil
}
