package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

// Output is the format in which Kymas are shown.
type Output string

// Output formats.
const (
	OutputTree Output = "tree"
	OutputWide Output = "wide"
	OutputJSON Output = "json"
)

// Screen shows Kymas repeatedly: on a terminal in the same place, elsewhere each change once.
type Screen struct {
	out   io.Writer
	json  bool
	style tree.Style
	// size returns the present size of the terminal; nil if there is no terminal.
	size func() (width, height int)
	// width and lines describe what was drawn last.
	width, lines int
	last         string
	// kymas holds the Kymas that were shown last.
	kymas []tree.Kyma
}

// NewScreen returns a Screen for out. It uses color only on a terminal, and unless the environment disables it
// (https://no-color.org).
func NewScreen(out io.Writer, how Output, getenv func(string) string) *Screen {
	s := &Screen{out: out, json: how == OutputJSON, style: tree.Style{Wide: how == OutputWide}}
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.size = func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0, 0
		}
		return width, height
	}
	s.style.Color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// Once shows Kymas a single time: all of them, even if the screen has fewer lines.
func (s *Screen) Once(fleet tree.Fleet) error {
	if s.json {
		return tree.WriteJSON(s.out, fleet, "  ")
	}
	if s.size != nil {
		s.style.Width, _ = s.size()
	}
	if err := tree.Render(s.out, fleet, s.style); err != nil || len(fleet.Kymas) > 0 {
		return err
	}
	_, err := fmt.Fprintln(s.out, "no Kyma found")
	return err
}

// Show shows Kymas when more may follow. It reports Kymas that were shown before and are gone.
func (s *Screen) Show(fleet tree.Fleet) error {
	gone := s.gone(fleet.Kymas)
	if s.json || s.size == nil {
		return s.append(gone, fleet)
	}
	width, height := s.size()
	s.style.Width = width
	lines := s.fitting(fleet, height)
	drawn := strings.Join(lines, "")
	if drawn == s.last && width == s.width && gone == "" {
		return nil
	}
	// Move up over what was drawn before. After a change of the width, the terminal has wrapped it differently, so
	// clear the screen.
	up := ""
	switch {
	case s.width != 0 && s.width != width:
		up = "\x1b[2J\x1b[H"
	case s.lines > 0:
		up = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
	}
	s.last, s.width, s.lines = drawn, width, len(lines)
	// Let the terminal cut rows that are too long, because wrapped rows would be counted incorrectly. Messages are
	// never cut.
	_, err := io.WriteString(s.out, up+gone+"\x1b[?7l"+drawn+"\x1b[?7h")
	return err
}

// fitting returns the lines of the trees that fit on the screen. If not all fit, Kymas that are not Ready come first.
func (s *Screen) fitting(fleet tree.Fleet, height int) []string {
	lines := tree.Lines(fleet, s.style)
	// The cursor is on the line below the last one.
	if height == 0 || len(lines) < height {
		return lines
	}
	fleet.Kymas = slices.Clone(fleet.Kymas)
	slices.SortStableFunc(fleet.Kymas, func(a, b tree.Kyma) int {
		switch {
		case a.Ready() == b.Ready():
			return 0
		case b.Ready():
			return -1
		}
		return 1
	})
	lines = tree.Lines(fleet, s.style)
	room := max(height-2, 1)
	return append(lines[:room:room], fmt.Sprintf("… and %d more lines that do not fit: name a Kyma, or a namespace with -n\n", len(lines)-room))
}

// gone returns a line for each Kyma that was shown before and no longer exists. The line stays on a terminal.
func (s *Screen) gone(kymas []tree.Kyma) string {
	var lines strings.Builder
	for _, before := range s.kymas {
		if !slices.ContainsFunc(kymas, func(k tree.Kyma) bool { return k.Namespace == before.Namespace && k.Name == before.Name }) {
			_, _ = fmt.Fprintf(&lines, "%s/%s is gone\n", before.Namespace, before.Name)
		}
	}
	s.kymas = kymas
	return lines.String()
}

// append writes which Kymas are gone, and the trees if they changed. In JSON, the list shows which Kymas are gone.
func (s *Screen) append(gone string, fleet tree.Fleet) error {
	var text, compared bytes.Buffer
	if s.json {
		if err := tree.WriteJSON(&text, fleet, ""); err != nil {
			return err
		}
		compared = text
	} else {
		// Compare without the age, so that an unchanged tree is not written again.
		ageless := fleet
		ageless.Kymas = slices.Clone(fleet.Kymas)
		for i := range ageless.Kymas {
			ageless.Kymas[i].Age = 0
		}
		if err := tree.Render(&compared, ageless, s.style); err != nil {
			return err
		}
		if err := tree.Render(&text, fleet, s.style); err != nil {
			return err
		}
		text.WriteString("\n")
	}
	if compared.String() == s.last {
		return nil
	}
	s.last = compared.String()
	if s.json {
		gone = ""
	}
	_, err := io.WriteString(s.out, gone+text.String())
	return err
}
