package histories

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
)

// started is a run that was started by a process, or continues another.
func started(id, continues, identity string) Run {
	return Run{RunID: id, History: &historypb.History{Events: []*historypb.HistoryEvent{{
		EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{ContinuedExecutionRunId: continues, Identity: identity},
		},
	}}}}
}

// continued is a run that continued as new in another.
func continued(id, by string) Run {
	run := started(id, "", "")
	run.History.Events = append(run.History.Events, &historypb.HistoryEvent{
		EventId: 2, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{NewExecutionRunId: by},
		},
	})
	return run
}

func TestARunThatVisibilityDoesNotShowYetIsMissed(t *testing.T) {
	require.Empty(t, missing([]Run{continued("a", "b"), started("b", "a", "")}, "b"))
	require.Equal(t, "b", missing([]Run{started("a", "", "")}, "b"), "the newest")
	require.Equal(t, "b", missing([]Run{continued("a", "b"), started("c", "", "")}, "c"), "the one in which another continued")
	require.Equal(t, "a", missing([]Run{started("b", "a", "")}, "b"), "the one that another continues")
}

func TestARecordedRunDoesNotNameTheMachine(t *testing.T) {
	for _, identity := range []string{"4711@machine.example.com@0.1.0-abc", "4711@machine.example.com@"} {
		run := started("a", "", identity)
		run.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().TaskQueue = &taskqueue.TaskQueue{
			Name: "machine.example.com:94a1d5c4-3db7-4364-813d-d88e7a38d5cc",
		}
		content, err := Encode(run)
		require.NoError(t, err)
		require.NotContains(t, string(content), "machine")
		require.Contains(t, string(content), `"4711@recorder@`)
		require.Contains(t, string(content), `"recorder:94a1d5c4-`)
		read, err := client.HistoryFromJSON(bytes.NewReader(content), client.HistoryJSONOptions{})
		require.NoError(t, err)
		require.Len(t, read.GetEvents(), 1)
	}
}

func TestAScenarioIsNotRecordedOver(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "v8")
	first := map[string][]Run{"kyma": {started("a", "", "1@a@"), started("b", "a", "2@b@")}}
	written, err := Write(folder, "removal", first)
	require.NoError(t, err)
	require.True(t, written)
	before, err := os.ReadFile(filepath.Join(folder, "removal", "kyma.2.json"))
	require.NoError(t, err)

	written, err = Write(folder, "removal", map[string][]Run{"kyma": {started("c", "", "3@c@")}})
	require.NoError(t, err)
	require.False(t, written)
	after, err := os.ReadFile(filepath.Join(folder, "removal", "kyma.2.json"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing incomplete remains")
}

func TestExpectedNumbersOfRuns(t *testing.T) {
	read := func(content string) (Expected, error) {
		return ReadExpected(fstest.MapFS{ExpectedFile: {Data: []byte(content)}})
	}
	expected, err := read("removal: {kyma: {exactly: 1}, manifest: {atMost: 2}}")
	require.NoError(t, err)
	kyma, manifest := expected["removal"]["kyma"], expected["removal"]["manifest"]
	for runs, want := range map[int][]bool{0: {false, false}, 1: {true, true}, 2: {false, true}, 3: {false, false}} {
		require.Equal(t, want, []bool{kyma.Allows(runs), manifest.Allows(runs)}, runs)
	}
	require.True(t, kyma.Exceeds(2))
	require.False(t, manifest.Exceeds(2))

	for _, refused := range []string{
		"removal: {kyma: {}}", "removal: {kyma: {exactly: -1}}", "removal: {kyma: {exactly: 1, atMost: 2}}", "removal: {kyma: {runs: 1}}", "removal: 1",
	} {
		_, err := read(refused)
		require.Error(t, err, refused)
	}
}
