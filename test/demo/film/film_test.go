package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFilmHasEachLineAtItsTimeWithoutLongPauses(t *testing.T) {
	times := cues([]line{{0, "a"}, {10 * time.Second, "b"}, {10*time.Second + 400*time.Millisecond, "c"}})
	require.Equal(t, []time.Duration{560 * time.Millisecond, 1760 * time.Millisecond, 2160 * time.Millisecond}, times)
}

func TestAFilmIsWellFormedAndShowsTheEndWhereNothingMayMove(t *testing.T) {
	var printed []line
	for i := range rows + 3 {
		printed = append(printed, line{time.Duration(i) * time.Second, fmt.Sprintf("%d <b> & \x1b[32mReady\x1b[0m", i)})
	}
	svg := draw("make <demo>", printed)
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Contains(t, svg, `0 &lt;b&gt; &amp; <tspan class="good">Ready</tspan></text>`)
	require.Contains(t, svg, fmt.Sprintf(".scroll { transform: translateY(-%dpx); } }", 3*lineHeight))
	require.NotContains(t, svg, "\x1b")
	require.Len(t, []rune(cut(strings.Repeat("ü", 200))), columns)
}

func TestAFilmSaysNothingOfItsMachineAndIsNoneOfAFailure(t *testing.T) {
	var shown bytes.Buffer
	printed, err := record([]string{"sh", "-c", "echo in $PWD; echo again >&2"}, &shown)
	require.NoError(t, err)
	require.Equal(t, "in .\nagain\n", shown.String())
	require.Equal(t, "in .", printed[0].text)

	file := filepath.Join(t.TempDir(), "film.svg")
	require.Error(t, run([]string{"-o", file, "--", "sh", "-c", "echo so far; exit 3"}))
	_, err = os.Stat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
}
