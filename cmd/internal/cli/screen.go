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

// Output is how Kymas are shown.
type Output string

// Outputs.
const (
	OutputTree Output = "tree"
	OutputWide Output = "wide"
	OutputJSON Output = "json"
)

// Screen shows Kymas one after the other: on a terminal in the same place, elsewhere each change once.
type Screen struct {
	out   io.Writer
	json  bool
	style tree.Style
	// size is the size of the terminal, as of now; nil where there is none.
	size func() (width, height int)
	// width, lines are of what was drawn last.
	width, lines int
	last         string
	// kymas are those that were shown last.
	kymas []tree.Kyma
}

// NewScreen finds out what it writes to, and what the environment says about colours (https://no-color.org).
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

// Once shows Kymas when nothing follows: all of them, however many lines the screen has.
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

// Show shows Kymas when more may follow, and says of those that were shown before when they are gone.
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
	// Up over what was drawn before. In a window of another width the terminal has broken it into other lines.
	up := ""
	switch {
	case s.width != 0 && s.width != width:
		up = "\x1b[2J\x1b[H"
	case s.lines > 0:
		up = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
	}
	s.last, s.width, s.lines = drawn, width, len(lines)
	// Rows that are too long are cut by the terminal, since a wrapped one would be counted wrongly; messages never are.
	_, err := io.WriteString(s.out, up+gone+"\x1b[?7l"+drawn+"\x1b[?7h")
	return err
}

// fitting are the lines of the trees as far as the screen has room, what is not Ready first where it has not.
func (s *Screen) fitting(fleet tree.Fleet, height int) []string {
	lines := tree.Lines(fleet, s.style)
	// The cursor is on the line below the last.
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
	return append(lines[:room:room], fmt.Sprintf("… and %d more lines than fit: name a Kyma, or a namespace with -n\n", len(lines)-room))
}

// gone has a line for each Kyma that was shown before and is no longer there. It stays on a terminal.
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

// append writes which Kymas are gone, and those that differ from before. Machines see the former by the latter.
func (s *Screen) append(gone string, fleet tree.Fleet) error {
	var text, compared bytes.Buffer
	if s.json {
		if err := tree.WriteJSON(&text, fleet, ""); err != nil {
			return err
		}
		compared = text
	} else {
		// Without its running age, a tree that did not change stays equal and is not written again.
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
