package cli

import (
	"bytes"
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

// onTerminal returns a screen of this size, and the output that it writes.
func onTerminal(width, height int) (s *Screen, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &Screen{out: out, size: func() (int, int) { return width, height }}, out
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
	require.NoError(t, s.Show(tree.Fleet{Kymas: kymas}))
	require.Equal(t, 9, strings.Count(out.String(), "\n"), "one line is for the cursor")
	require.Contains(t, out.String(), "it is broken", "Kymas that are not Ready come first")
	require.Contains(t, out.String(), "… and 33 more lines that do not fit")

	out.Reset()
	require.NoError(t, s.Show(tree.Fleet{Kymas: kymas}))
	require.Empty(t, out.String(), "nothing changed")
	kymas[33].Message = "it is broken in another way"
	require.NoError(t, s.Show(tree.Fleet{Kymas: kymas}))
	require.Contains(t, out.String(), "\x1b[9A\x1b[J", "the tree is drawn in the same place")
}

func TestAPipeGetsEachChangeOnceAndNoEscapes(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, OutputTree, func(string) string { return "" })
	k := kymaIn(shared.StateProcessing, "waiting")
	require.NoError(t, s.Show(tree.Fleet{Kymas: []tree.Kyma{k}}))
	k.Age += time.Minute
	require.NoError(t, s.Show(tree.Fleet{Kymas: []tree.Kyma{k}}), "age alone is no change")
	require.Equal(t, 1, strings.Count(out.String(), "kcp-system/demo"))
	require.NotContains(t, out.String(), "\x1b")
}

func TestAWatchReportsThatAKymaIsGone(t *testing.T) {
	fleet := tree.Fleet{Kymas: []tree.Kyma{kymaIn(shared.StateReady, "")}}
	var piped bytes.Buffer
	shows := func(s *Screen, out *bytes.Buffer, fleet tree.Fleet) string {
		out.Reset()
		require.NoError(t, s.Show(fleet))
		return out.String()
	}
	s := NewScreen(&piped, OutputTree, func(string) string { return "" })
	require.NotContains(t, shows(s, &piped, fleet), "gone")
	require.Equal(t, "kcp-system/demo is gone\n\n", shows(s, &piped, tree.Fleet{}))
	require.Empty(t, shows(s, &piped, tree.Fleet{}), "once")

	s, drawn := onTerminal(80, 10)
	height := strings.Count(shows(s, drawn, fleet), "\n")
	require.True(t, strings.HasPrefix(shows(s, drawn, tree.Fleet{}), "\x1b["+strconv.Itoa(height)+"A\x1b[Jkcp-system/demo is gone\n"), "the line replaces the tree")
	require.NotContains(t, shows(s, drawn, fleet), "A\x1b[J", "the line stays")

	s = NewScreen(&piped, OutputJSON, func(string) string { return "" })
	shows(s, &piped, fleet)
	require.NotContains(t, shows(s, &piped, tree.Fleet{}), "gone", "in JSON, the list shows it")
}

func TestAJSONWatchWritesALineForEachChange(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, OutputJSON, func(string) string { return "" })
	k := kymaIn(shared.StateProcessing, "waiting")
	for _, k.State = range []shared.State{"Processing", "Processing", "Ready"} {
		require.NoError(t, s.Show(tree.Fleet{Kymas: []tree.Kyma{k}}))
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[1], `"state":"Ready"`)
}

// A test would need a pseudo-terminal to have a terminal; /dev/ptmx exists where tests run on Linux.
func TestOnlyTerminalsGetColorsAndNoColorDisablesThem(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	require.False(t, NewScreen(file, OutputTree, func(string) string { return "" }).style.Color, "a file is no terminal")

	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system has no pseudo-terminals")
	}
	defer func() { _ = terminal.Close() }()
	env := map[string]string{"TERM": "xterm"}
	getenv := func(name string) string { return env[name] }
	require.True(t, NewScreen(terminal, OutputTree, getenv).style.Color)
	env["NO_COLOR"] = "1"
	require.False(t, NewScreen(terminal, OutputTree, getenv).style.Color)
	delete(env, "NO_COLOR")
	env["TERM"] = "dumb"
	require.False(t, NewScreen(terminal, OutputTree, getenv).style.Color)
}
