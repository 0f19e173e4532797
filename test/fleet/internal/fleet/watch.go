package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
)

// Watch reports components that end by themselves, until the context ends or
// somebody takes the fleet down. It reports whether the fleet is still there.
func (f *Fleet) Watch(ctx context.Context) bool {
	reported := map[process.Identity]bool{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for f.Folder.Exists() {
		// A record that cannot be read now is read in a second.
		records, _ := f.Launcher.Records.List()
		for _, record := range records {
			// Read again: one that was stopped meanwhile has no record any more.
			_, err := f.Launcher.Records.Running(record.Component)
			if !errors.Is(err, process.ErrGone) || reported[record.Identity] || !exists(f.Launcher.Records.Path(record.Component)) {
				continue
			}
			reported[record.Identity] = true
			f.Progress.Printf("%s has ended, its log is %s", record.Component, f.Folder.Log(record.Component))
		}
		select {
		case <-ctx.Done():
			return true
		case <-tick.C:
		}
	}
	return false
}
