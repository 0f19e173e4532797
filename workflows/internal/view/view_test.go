package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNamesOfForcedObjectsAreBounded(t *testing.T) {
	var forced Forced
	for range 3 {
		forced.Add(11, []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
	}
	require.Equal(t, 33, forced.Count)
	require.Len(t, forced.Names, maxForcedNames)
	require.Contains(t, forced.String(), " and 13 more")
}

func TestTheDetailsAreAShortTable(t *testing.T) {
	view := View{State: "Processing", Modules: []Row{
		{Name: "a", Version: "1.0.0", State: "Ready"},
		{Name: "b", State: "Error", Message: "one | two\n" + strings.Repeat("long ", 100)},
		{Name: "c", State: "Processing", WaitingFor: "the module to become ready", Attempt: 2, Since: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)},
	}}
	text := view.Markdown()
	require.Contains(t, text, "| a | 1.0.0 | Ready |  |  |\n")
	require.Contains(t, text, "| c |  | Processing |  | waits for the module to become ready, after 2 failed attempts since 2026-11-22T12:00:00Z |\n")
	require.Contains(t, text, "one / two long")
	require.Less(t, len(text), 3*maxLine)

	since := time.Date(2026, 11, 22, 12, 3, 4, 0, time.UTC)
	view.Do("installing: Manifest changed", since)
	require.Regexp(t, `^Since 2026-11-22T12:03:04Z: installing: Manifest changed\n\n\*\*Processing`, view.Markdown())
	view.WaitingFor = "a change"
	require.Regexp(t, `^Waiting since 2026-11-22T12:03:04Z for a change\. `, view.Markdown())
}
