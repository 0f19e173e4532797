package state_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

func newFolder(t *testing.T) state.Folder {
	t.Helper()
	folder, err := state.Open(filepath.Join(t.TempDir(), "fleet"))
	require.NoError(t, err)
	return folder
}

func TestAFleetIsReadAsItWasWritten(t *testing.T) {
	folder := newFolder(t)
	require.NoError(t, folder.Create())
	_, err := folder.Load()
	require.ErrorIs(t, err, state.ErrNotAFleet, "a folder without a fleet's file")

	fleet := &state.Fleet{
		Name: "a", ID: "b", CreatedAt: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
		Binaries: map[string]string{"etcd": "/x/etcd"},
		Clusters: []state.Cluster{
			{Name: state.ControlPlane, APIServer: state.Port{Number: 6443, Fixed: true}},
			{Name: "remote-1"},
		},
		Registry: state.Registry{HTTP: state.Port{Number: 20002}, Username: "u", Password: "p"},
	}
	require.NoError(t, folder.Save(fleet))
	loaded, err := folder.Load()
	require.NoError(t, err)
	require.Equal(t, fleet, loaded)
	require.Equal(t, []string{"remote-1"}, loaded.Remotes())
	require.Len(t, loaded.Ports(), 2, "only ports that have a number")

	info, err := os.Stat(filepath.Join(folder.Path, "fleet.json"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "others must not read the password")
}

func TestAFolderWithForeignFilesIsRefused(t *testing.T) {
	folder := newFolder(t)
	require.NoError(t, os.MkdirAll(folder.Path, 0o700))
	foreign := filepath.Join(folder.Path, "thesis.txt")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	require.ErrorContains(t, folder.Create(), "not empty")
	require.NoError(t, folder.Remove())
	require.FileExists(t, foreign)
}

func TestRemovalLeavesForeignFiles(t *testing.T) {
	folder := newFolder(t)
	require.NoError(t, folder.Create())
	require.NoError(t, folder.Save(&state.Fleet{}))
	require.NoError(t, state.WriteFile(folder.Log("remote-1/etcd"), nil))
	foreign := filepath.Join(folder.Path, "notes.txt")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))

	require.NoError(t, folder.Remove())
	require.False(t, folder.Exists())
	require.FileExists(t, foreign)
	require.NoDirExists(t, folder.Logs())

	require.NoError(t, os.Remove(foreign))
	require.NoError(t, folder.Create())
	require.NoError(t, folder.Remove())
	require.NoDirExists(t, folder.Path, "an empty folder goes too")
}

func TestASecondCommandWaitsForTheLock(t *testing.T) {
	folder := newFolder(t)
	unlock, err := folder.Lock(t.Context(), func() { t.Error("the first has nobody to wait for") })
	require.NoError(t, err)

	waiting := false
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = folder.Lock(impatient, func() { waiting = true })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, waiting, "the user is informed")

	unlock()
	unlock, err = folder.Lock(t.Context(), func() {})
	require.NoError(t, err)
	unlock()
}
