package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/docs"
	"github.com/kyma-project/lifecycle-manager/test/commandhelp"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// documented are the flags in a table of the documentation, with their defaults. A flag in brackets is another name of
// the one before.
func documented(t *testing.T, section string) map[string]string {
	t.Helper()
	defaults := map[string]string{}
	name := regexp.MustCompile("(\\(?)`--([a-z0-9-]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| (`--.*?) \\| ?(.*?) ?\\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		values := strings.Split(strings.ReplaceAll(row[2], "`", ""), ", ")
		at := -1
		for _, flag := range name.FindAllStringSubmatch(row[1], -1) {
			if flag[1] == "" {
				at++
			}
			_, twice := defaults[flag[2]]
			require.False(t, twice, "--%s is there twice", flag[2])
			defaults[flag[2]] = values[min(at, len(values)-1)]
		}
	}
	return defaults
}

func TestThePageAboutOperatingHasEveryFlagOfRunOnceWithItsDefault(t *testing.T) {
	page, err := docs.Pages.ReadFile("operating.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Flags of `run`\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	said := documented(t, section)

	command := newRunCommand()
	short := regexp.MustCompile(`([a-z])0s$|([a-z])0m$`)
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		value, ok := said[flag.Name]
		require.True(t, ok, "docs/operating.md does not explain --%s", flag.Name)
		want := flag.DefValue
		if flag.Value.Type() == "duration" {
			want = short.ReplaceAllString(short.ReplaceAllString(want, "$1$2"), "$1$2")
		}
		if _, isList := flag.Value.(pflag.SliceValue); isList {
			want = strings.Trim(want, "[]")
		}
		if want != "" {
			require.Equal(t, want, value, "the default of --%s", flag.Name)
		}
		delete(said, flag.Name)
	})
	require.Empty(t, said, "docs/operating.md explains flags that there are not")
}

func TestThePagesExplainEveryFlagOfTheOtherCommands(t *testing.T) {
	pages := ""
	for _, name := range []string{"operating.md", "install.md", "migration.md"} {
		page, err := docs.Pages.ReadFile(name)
		require.NoError(t, err)
		pages += string(page)
	}
	explained := 0
	for _, command := range allBelow(newRootCommand()) {
		if command.Name() == "run" {
			continue // its flags are above
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" || flag.Hidden {
				return
			}
			named := regexp.MustCompile("--"+regexp.QuoteMeta(flag.Name)+"[^a-z0-9-]").MatchString(pages) ||
				flag.Shorthand != "" && regexp.MustCompile("[` ]-"+flag.Shorthand+"[^a-z-]").MatchString(pages)
			require.True(t, named, "no page explains --%s of %s", flag.Name, command.CommandPath())
			explained++
		})
	}
	require.NotZero(t, explained)
}

func TestThePageOfTheCommandsIsTheirHelp(t *testing.T) {
	commandhelp.Compare(t, filepath.Join(testfleet.Root(t), "docs", "commands.md"), newRootCommand())
}

// allBelow are commands and those below them.
func allBelow(commands ...*cobra.Command) []*cobra.Command {
	all := commands
	for _, command := range commands {
		all = append(all, allBelow(command.Commands()...)...)
	}
	return all
}
