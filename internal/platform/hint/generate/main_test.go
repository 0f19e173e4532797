package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

func TestThePageHasATableForEachSection(t *testing.T) {
	t.Parallel()
	page := string(generate([]hint.Section{
		{Title: "First", Text: "About these.", Reasons: []hint.Reason{{Name: "A", Means: "a thing", Do: "see [the page](#page)"}}},
		{Title: "Second", Reasons: []hint.Reason{{Name: "B", Means: "another", Do: "nothing"}}},
	}))
	_, tables, found := strings.Cut(page, "\n## First\n")
	require.True(t, found)
	require.Equal(t, "About these.\n\n| reason | means | what to do |\n|---|---|---|\n| `A` | a thing | see [the page](#page) |\n"+
		"\n## Second\n| reason | means | what to do |\n|---|---|---|\n| `B` | another | nothing |\n", tables)
}
