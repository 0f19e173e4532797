// Package state keeps what a fleet has to remember between two commands, in a
// folder of the fleet's own.
package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Folder is the state folder of one fleet.
type Folder struct {
	// Path is absolute.
	Path string
}

// The entries of a state folder. Only these are ever removed from it.
const (
	markerName    = ".lifecycle-manager-fleet"
	fleetName     = "fleet.json"
	processesName = "processes"
	logsName      = "logs"
	clustersName  = "clusters"
	temporalName  = "temporal"
	registryName  = "registry"
)

// ErrNotAFleet says that a folder does not have a fleet's state.
var ErrNotAFleet = errors.New("no fleet here")

// DefaultPath is the state folder of the fleet with the given name:
// $XDG_STATE_HOME/lifecycle-manager-fleet/NAME, where XDG_STATE_HOME falls back
// to ~/.local/state (XDG Base Directory Specification).
func DefaultPath(name string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find a place for the fleet's state (set XDG_STATE_HOME or --state-dir): %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "lifecycle-manager-fleet", name), nil
}

// Open returns the folder at path. It creates nothing.
func Open(path string) (Folder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Folder{}, fmt.Errorf("state folder %s: %w", path, err)
	}
	return Folder{Path: absolute}, nil
}

// Create makes the folder and marks it as a fleet's. A folder with other things
// in it is refused, since Remove would have to distinguish them.
func (f Folder) Create() error {
	if f.Exists() {
		return nil
	}
	entries, err := os.ReadDir(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the state folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("state folder %s is not empty and was not made by this program: choose another one", f.Path)
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return fmt.Errorf("create the state folder: %w", err)
	}
	return WriteFile(filepath.Join(f.Path, markerName), []byte("The state of a local fleet of Lifecycle Manager.\n"))
}

// Exists reports whether the folder has a fleet's state.
func (f Folder) Exists() bool {
	_, err := os.Stat(filepath.Join(f.Path, markerName))
	return err == nil
}

// Remove deletes what a fleet keeps in its folder, and the folder if nothing
// else is in it. The marker goes last: what remains of an interrupted removal
// is still known as a fleet's.
func (f Folder) Remove() error {
	if !f.Exists() {
		return nil
	}
	for _, name := range []string{clustersName, temporalName, registryName, logsName, processesName, fleetName, markerName} {
		if err := os.RemoveAll(filepath.Join(f.Path, name)); err != nil {
			return fmt.Errorf("remove the fleet's state: %w", err)
		}
	}
	// Fails when somebody keeps files of their own there; they stay.
	_ = os.Remove(f.Path)
	return nil
}

// Processes is the folder of process records.
func (f Folder) Processes() string { return filepath.Join(f.Path, processesName) }

// Log is the log file of a component.
func (f Folder) Log(component string) string {
	return filepath.Join(f.Path, logsName, filepath.FromSlash(component)+".log")
}

// ClusterLogs is the folder of a cluster's logs.
func (f Folder) ClusterLogs(name string) string { return filepath.Join(f.Path, logsName, name) }

// Logs is the folder of all logs.
func (f Folder) Logs() string { return filepath.Join(f.Path, logsName) }

// Cluster is the folder of one cluster's certificates, kubeconfigs and data.
func (f Folder) Cluster(name string) string { return filepath.Join(f.Path, clustersName, name) }

// Temporal is the folder of Temporal's database.
func (f Folder) Temporal() string { return filepath.Join(f.Path, temporalName) }

// Registry is the folder of the registry's configuration and data.
func (f Folder) Registry() string { return filepath.Join(f.Path, registryName) }

// Lock makes the caller the only one to change the fleet until it calls the
// returned function. waiting is called once if another command has to be waited
// for. The lock ends with its process, however that ends.
func (f Folder) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of fleets: %w", err)
	}
	// Beside the folder, not in it: the lock must outlive the folder's removal.
	return Lock(ctx, f.Path+".lock", waiting)
}

// Lock takes the lock of the given file, see Folder.Lock.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		waiting()
		locked, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !locked {
		return nil, fmt.Errorf("lock %s: held by another command", path)
	}
	return func() { _ = lock.Unlock() }, nil
}

// WriteFile replaces a file in one step: a reader sees the old content or the
// new one. Only the owner may read it.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of %s: %w", path, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
