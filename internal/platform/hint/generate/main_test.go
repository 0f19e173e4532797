package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHintsComeFromTheTablesOfReasons(t *testing.T) {
	t.Parallel()
	code, err := generate("# Page\n| `Other` | is | no reason |\n\n## What each reason means\n" +
		"| reason | means | what to do |\n|---|---|---|\n" +
		"| `A` | a thing | see [the page](#page): set `--flag` |\n" +
		"| `B` | another | the same |\n" +
		"| `C` | a third | nothing: it is tried again |\n" +
		"| `D` | a fourth | nothing; a label brings it back |\n" +
		"\n## Next\n| `Late` | is | no reason |\n")
	require.NoError(t, err)
	require.Equal(t, `// Code generated from docs/operating.md by make generate. DO NOT EDIT.

package hint

func ofReason(reason string) string {
	switch reason {
	case "A":
		return "see the page: set --flag"
	case "B":
		return "see the page: set --flag"
	case "D":
		return "a label brings it back"
	default:
		return ""
	}
}
`, string(code))
}

func TestAPageWithoutReasonsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := generate("# Page\n")
	require.EqualError(t, err, "the page has no section about reasons")
}
