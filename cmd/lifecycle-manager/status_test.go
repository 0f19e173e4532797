package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

func kymaIn(state shared.State, message string) tree.Kyma {
	return tree.Kyma{Namespace: "kcp-system", Name: "demo", State: state, Message: message, Age: time.Second}
}

// awaited runs `status --until-ready` on what is read one after the other; the last stays.
func awaited(ctx context.Context, settle time.Duration, reads ...tree.Kyma) (shown int, err error) {
	at := 0
	err = watch{
		untilReady: true, every: time.Millisecond, settle: settle,
		show: func(tree.Fleet) error { shown++; return nil },
		read: func(context.Context) (tree.Fleet, error) {
			k := reads[min(at, len(reads)-1)]
			at++
			return tree.Fleet{Kymas: []tree.Kyma{k}}, nil
		},
	}.run(ctx)
	return shown, err
}

func TestWhoeverWaitsForReadyIsToldAsSoonAsOnlyAChangeCanHelp(t *testing.T) {
	stuck := kymaIn(shared.StateError, "access secret not found")
	stuck.WaitsForChange = true
	_, err := awaited(t.Context(), time.Millisecond, kymaIn(shared.StateProcessing, ""), stuck)
	require.ErrorIs(t, err, errNeedsChange)
	require.ErrorContains(t, err, "Kyma kcp-system/demo is Error (access secret not found)")

	// The change may have been made just before: Lifecycle Manager gets time to see it.
	_, err = awaited(t.Context(), time.Hour, stuck, stuck, kymaIn(shared.StateProcessing, ""), kymaIn(shared.StateReady, ""))
	require.NoError(t, err)
}

func TestWhoeverWaitsForReadyIsToldWhatIsNotAtTheEndOfTheTime(t *testing.T) {
	over, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := awaited(over, time.Hour, kymaIn(shared.StateProcessing, "waiting for a module"))
	require.ErrorIs(t, err, errNotReady)
	require.ErrorContains(t, err, "waiting for a module")
}

func TestAWaitThatIsInterruptedDidNotSucceed(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := awaited(interrupted, time.Hour, kymaIn(shared.StateProcessing, ""))
	require.ErrorIs(t, err, errInterrupted)
}

func TestAReadErrorEndsAWatch(t *testing.T) {
	broken := errors.New("broken")
	err := watch{every: time.Millisecond, read: func(context.Context) (fleet tree.Fleet, err error) { return fleet, broken }}.run(t.Context())
	require.ErrorIs(t, err, broken)
}

// onTerminal is a screen of a size, and what a terminal shows of what it writes.
func onTerminal(width, height int) (s *screen, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &screen{out: out, output: outputTree, size: func() (int, int) { return width, height }}, out
}

func TestAWatchFitsTheScreen(t *testing.T) {
	var kymas []tree.Kyma
	for i := range 40 {
		k := kymaIn(shared.StateReady, "")
		k.Name = "kyma-" + strconv.Itoa(i)
		kymas = append(kymas, k)
	}
	kymas[33] = kymaIn(shared.StateError, "it is broken")
	s, out := onTerminal(80, 10)
	require.NoError(t, s.show(tree.Fleet{Kymas: kymas}))
	require.Equal(t, 9, strings.Count(out.String(), "\n"), "one line is for the cursor")
	require.Contains(t, out.String(), "it is broken", "what is not Ready goes first")
	require.Contains(t, out.String(), "… and 33 more lines than fit")

	out.Reset()
	require.NoError(t, s.show(tree.Fleet{Kymas: kymas}))
	require.Empty(t, out.String(), "nothing changed")
	kymas[33].Message = "it is broken in another way"
	require.NoError(t, s.show(tree.Fleet{Kymas: kymas}))
	require.Contains(t, out.String(), "\x1b[9A\x1b[J", "it is drawn where it was")
}

func TestAPipeGetsEachChangeOnceAndNoEscapes(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, outputTree, func(string) string { return "" })
	k := kymaIn(shared.StateProcessing, "waiting")
	require.NoError(t, s.show(tree.Fleet{Kymas: []tree.Kyma{k}}))
	k.Age += time.Minute
	require.NoError(t, s.show(tree.Fleet{Kymas: []tree.Kyma{k}}), "age alone is no change")
	require.Equal(t, 1, strings.Count(out.String(), "kcp-system/demo"))
	require.NotContains(t, out.String(), "\x1b")
}

func TestAWatchForMachinesIsALineForEachChange(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, outputJSON, func(string) string { return "" })
	k := kymaIn(shared.StateProcessing, "waiting")
	for _, k.State = range []shared.State{"Processing", "Processing", "Ready"} {
		require.NoError(t, s.show(tree.Fleet{Kymas: []tree.Kyma{k}}))
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[1], `"state":"Ready"`)
}

// A pseudo-terminal is what the test would need to have one; /dev/ptmx is there where tests run on Linux.
func TestColoursAreForTerminalsOnlyAndNoColorSwitchesThemOff(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	require.False(t, newScreen(file, outputTree, func(string) string { return "" }).style.Color, "a file is no terminal")

	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here")
	}
	defer func() { _ = terminal.Close() }()
	env := map[string]string{"TERM": "xterm"}
	getenv := func(name string) string { return env[name] }
	require.True(t, newScreen(terminal, outputTree, getenv).style.Color)
	env["NO_COLOR"] = "1"
	require.False(t, newScreen(terminal, outputTree, getenv).style.Color)
	delete(env, "NO_COLOR")
	env["TERM"] = "dumb"
	require.False(t, newScreen(terminal, outputTree, getenv).style.Color)
}

const twoContexts = `apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: first, user: me}}
- {name: second, context: {cluster: second, user: me}}
clusters:
- {name: first, cluster: {server: "https://first.example.com"}}
- {name: second, cluster: {server: "https://second.example.com"}}
users:
- {name: me, user: {token: t}}
`

func TestAContextChoosesTheControlPlane(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(twoContexts), 0o600))
	for _, given := range []string{path, ""} {
		t.Setenv("KUBECONFIG", path)
		for name, host := range map[string]string{"": "https://first.example.com", "second": "https://second.example.com"} {
			config, err := restConfig(given, name)
			require.NoError(t, err)
			require.Equal(t, host, config.Host)
		}
		_, err := restConfig(given, "third")
		require.ErrorContains(t, err, "third")
	}
}
