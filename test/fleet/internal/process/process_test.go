package process

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary plays the shim and the programs that are started.
const (
	playShim     = "play-shim"
	playStubborn = "play-stubborn"
	playPolite   = "play-polite"
	playDead     = "play-dead"
)

func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case playShim:
		fmt.Fprintln(os.Stderr, BecomeRecorded(os.Args[2:]))
		os.Exit(1)
	case playStubborn:
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("deaf")
		time.Sleep(time.Hour)
	case playPolite:
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("listening")
		<-asked
		os.Exit(0)
	case playDead:
		fmt.Println("last words")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func newLauncher(t *testing.T) Launcher {
	t.Helper()
	return Launcher{Records: Records{Dir: t.TempDir()}, Shim: []string{os.Args[0], playShim}}
}

// startProgram starts a program that is ended with the test at the latest.
func startProgram(t *testing.T, launcher Launcher, component, path string, args ...string) (*Process, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	started, err := launcher.Start(t.Context(), Spec{Component: component, Path: path, Args: args, LogPath: log})
	require.NoError(t, err)
	t.Cleanup(func() { _ = started.Signal(syscall.SIGKILL) })
	return started, log
}

func awaitOutput(t *testing.T, log string) {
	t.Helper()
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(log)
		return err == nil && len(data) > 0
	}, time.Minute, 10*time.Millisecond)
}

func TestAStartedProgramIsRecordedUnderItsOwnIdentity(t *testing.T) {
	launcher := newLauncher(t)
	started, _ := startProgram(t, launcher, "remote-1/sleep", "/bin/sleep", "3600")
	record, err := launcher.Records.Running("remote-1/sleep")
	require.NoError(t, err)
	require.Equal(t, started.Identity, record.Identity)
	require.Equal(t, []string{"/bin/sleep", "3600"}, record.Command)
	require.NoError(t, started.Exited())

	require.NoError(t, launcher.Records.Stop(t.Context(), "remote-1/sleep", 10*time.Second))
	require.False(t, record.Alive())
	_, err = launcher.Records.Read("remote-1/sleep")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, launcher.Records.Stop(t.Context(), "remote-1/sleep", 0), "a second stop has nothing to do")
}

func TestAProgramThatIgnoresTheRequestToEndIsKilled(t *testing.T) {
	launcher := newLauncher(t)
	started, log := startProgram(t, launcher, "stubborn", os.Args[0], playStubborn)
	awaitOutput(t, log)
	require.NoError(t, launcher.Records.Stop(t.Context(), "stubborn", 100*time.Millisecond))
	require.False(t, started.Alive())
}

func TestAPausedProgramCanStillEndByItself(t *testing.T) {
	launcher := newLauncher(t)
	started, log := startProgram(t, launcher, "paused", os.Args[0], playPolite)
	awaitOutput(t, log)
	require.NoError(t, started.Signal(syscall.SIGSTOP))
	require.NoError(t, launcher.Records.Stop(t.Context(), "paused", 10*time.Second))
	require.Eventually(t, func() bool { return started.Exited() != nil }, time.Minute, 10*time.Millisecond)
	require.EqualError(t, started.Exited(), "its process ended: exit status 0")
}

func TestAProgramThatEndsIsNoticedWithItsStatus(t *testing.T) {
	launcher := newLauncher(t)
	started, log := startProgram(t, launcher, "dead", os.Args[0], playDead)
	require.Eventually(t, func() bool { return started.Exited() != nil }, time.Minute, 10*time.Millisecond)
	var exited *ExitedError
	require.ErrorAs(t, started.Exited(), &exited)
	require.Equal(t, ExitedError{Component: "dead", Status: "exit status 3"}, *exited)
	_, err := launcher.Records.Running("dead")
	require.ErrorIs(t, err, ErrGone)
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "last words\n", string(data))
}

func TestAProcessThatOnlyHasTheRecordedIDIsNotStopped(t *testing.T) {
	launcher := newLauncher(t)
	bystander, _ := startProgram(t, launcher, "bystander", "/bin/sleep", "3600")
	recycled := bystander.Record
	recycled.Component = "etcd"
	recycled.StartTime = "another boot/17"
	require.NoError(t, writeRecord(launcher.Records.Path("etcd"), recycled))

	_, err := launcher.Records.Running("etcd")
	require.ErrorIs(t, err, ErrGone)
	require.ErrorIs(t, recycled.Signal(syscall.SIGKILL), ErrGone)
	require.NoError(t, launcher.Records.Stop(t.Context(), "etcd", 0))
	require.True(t, bystander.Alive())
	require.NoFileExists(t, launcher.Records.Path("etcd"))
}

func TestAnInterruptedStopStillEndsTheProgram(t *testing.T) {
	launcher := newLauncher(t)
	started, _ := startProgram(t, launcher, "stubborn", os.Args[0], playStubborn)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, launcher.Records.Stop(canceled, "stubborn", time.Hour))
	require.False(t, started.Alive())
}

func TestABrokenRecordDoesNotHideTheOthers(t *testing.T) {
	launcher := newLauncher(t)
	startProgram(t, launcher, "sleep", "/bin/sleep", "3600")
	require.NoError(t, os.WriteFile(launcher.Records.Path("broken"), []byte("{"), 0o600))
	records, err := launcher.Records.List()
	require.ErrorContains(t, err, "broken.json")
	require.Len(t, records, 1)
	require.Equal(t, "sleep", records[0].Component)
}
