package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// IsEmpty reports whether nothing would change.
func (f Forecast) IsEmpty() bool { return len(f.Groups) == 0 && len(f.Promotions) == 0 }

// WriteJSON writes the forecast for programs.
func (f Forecast) WriteJSON(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	if f.Groups == nil {
		f.Groups = []Group{}
	}
	return encoder.Encode(f)
}

// WriteText writes the forecast for people: one line per group, the largest groups first.
func (f Forecast) WriteText(to io.Writer) error {
	if len(f.Groups) == 0 {
		_, err := fmt.Fprintf(to, "nothing would change for %d Kymas\n%s", f.Kymas, strings.TrimPrefix(f.promotionNotes()+"\n", "\n"))
		return errors.Join(err, f.writeProblems(to))
	}
	if _, err := fmt.Fprintf(to, "%d of %d Kymas would change\n\n", f.Changed, f.Kymas); err != nil {
		return err
	}
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "KYMAS\tMODULE\tCHANGE\tFROM\tTO\tWHICH")
	for _, g := range f.Groups {
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", g.Kymas, g.Module, g.Kind, orDash(g.From), orDash(g.To), names(g))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	notes := ""
	for _, g := range f.Groups {
		if g.Message != "" {
			notes += fmt.Sprintf("\n%s, %s: %s", g.Module, g.Kind, hint.With(g.Message, g.Hint))
		}
		if len(g.Stages) > 0 {
			notes += fmt.Sprintf("\n%s %s goes through %d stages: %s", g.Module, g.To, len(g.Stages), advance.DescribeStages(g.Stages))
		}
	}
	for _, held := range f.Holds {
		notes += "\nwould be held: " + held
	}
	notes += f.promotionNotes()
	if notes != "" || len(f.Objects) == 0 {
		if _, err := fmt.Fprintln(to, notes); err != nil {
			return err
		}
	}
	return errors.Join(writeObjects(to, f.Objects), f.writeProblems(to))
}

func (f Forecast) promotionNotes() string {
	notes := ""
	for _, promotion := range f.Promotions {
		notes += "\npromotion: " + promotion
	}
	return notes
}

func (f Forecast) writeProblems(to io.Writer) error {
	for _, problem := range f.Problems {
		if _, err := fmt.Fprintf(to, "could not be planned: %s\n", problem); err != nil {
			return err
		}
	}
	return nil
}

func names(g Group) string {
	text := strings.Join(g.Names, ", ")
	if more := g.Kymas - len(g.Names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
