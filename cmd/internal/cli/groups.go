package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Groups are the flags of a command that has too many for one list.
type Groups []Group

// Group are flags that belong together, under a title.
type Group struct {
	Title string
	Set   *pflag.FlagSet
}

// Add begins a group; what is registered in the returned set belongs to it.
func (g *Groups) Add(title string) *pflag.FlagSet {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	*g = append(*g, Group{title, set})
	return set
}

// AddTo gives the flags to a command, whose help shows them group by group.
func (g Groups) AddTo(command *cobra.Command) {
	for _, group := range g {
		command.Flags().AddFlagSet(group.Set)
	}
	command.SetUsageFunc(func(command *cobra.Command) error {
		out := command.OutOrStderr()
		width := widthOf(out)
		if _, err := fmt.Fprintf(out, "Usage:\n  %s\n", command.UseLine()); err != nil {
			return err
		}
		for _, group := range g {
			if _, err := fmt.Fprintf(out, "\n%s:\n%s", group.Title, group.Set.FlagUsagesWrapped(width)); err != nil {
				return err
			}
		}
		return nil
	})
}

// widthOf is how many columns a terminal has; 0 for what is none.
func widthOf(out any) int {
	file, isFile := out.(*os.File)
	if !isFile {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}
