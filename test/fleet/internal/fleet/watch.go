package fleet

import (
	"context"
	"errors"
	"slices"
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
		for _, record := range f.ended() {
			if !reported[record.Identity] {
				reported[record.Identity] = true
				f.Progress.Printf("%s has ended, its log is %s", record.Component, f.Folder.Log(record.Component))
			}
		}
		select {
		case <-ctx.Done():
			return true
		case <-tick.C:
		}
	}
	return false
}

// reviveEnded starts the components again that have ended by themselves.
func (f *Fleet) reviveEnded(ctx context.Context) {
	for _, record := range f.ended() {
		if err := f.revive(ctx, record.Component); err != nil {
			f.Progress.Printf("%s has ended and does not start again: %v", record.Component, err)
		}
	}
}

// revive starts a component that has ended by itself, unless a command has stopped or started it meanwhile.
func (f *Fleet) revive(ctx context.Context, component string) error {
	unlock, err := f.lockLoaded(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	record, ended := f.hasEnded(component)
	if !ended {
		return nil
	}
	f.Progress.Printf("%s, process %d, has ended by itself: starting it again", component, record.PID)
	return f.startLocked(ctx, component)
}

// ended lists the components that have ended by themselves. A record that cannot be read now is read next time.
func (f *Fleet) ended() []process.Record {
	records, _ := f.Launcher.Records.List()
	return slices.DeleteFunc(records, func(record process.Record) bool {
		_, ended := f.hasEnded(record.Component)
		return !ended
	})
}

// hasEnded reads the record of a component, and reports whether its process has ended although nobody stopped it: one that was
// stopped has no record any more.
func (f *Fleet) hasEnded(component string) (process.Record, bool) {
	record, err := f.Launcher.Records.Running(component)
	return record, errors.Is(err, process.ErrGone) && record.PID != 0
}
