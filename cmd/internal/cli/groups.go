package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// ErrUsage is wrapped by errors about the command line.
var ErrUsage = errors.New("wrong usage")

// Groups holds the flags of a command that has too many for one list.
type Groups []Group

// Group holds the flags under one title.
type Group struct {
	Title string
	Set   *pflag.FlagSet
}

// Add starts a group. Flags that are registered in the returned set belong to it.
func (g *Groups) Add(title string) *pflag.FlagSet {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	*g = append(*g, Group{title, set})
	return set
}

// AddTo adds the flags to a command, and groups them in its help.
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

// widthOf returns the number of columns of a terminal; 0 if out is no terminal.
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
