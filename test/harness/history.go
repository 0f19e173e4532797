package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// WorkflowOf says in which status the workflow of a Kyma is. Several runs in different statuses show as "mixed".
func (s *Environment) WorkflowOf(kyma *v1beta2.Kyma) string {
	s.T.Helper()
	page, err := s.Temporal.ListWorkflow(s.T.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus != 'ContinuedAsNew'", kick.KymaWorkflowID(kick.RefOf(kyma))),
	})
	if err != nil {
		return err.Error() // which is no status, and may be gone at the next attempt
	}
	found := ""
	for _, execution := range page.GetExecutions() {
		status := execution.GetStatus().String()
		if found != "" && found != status {
			status = "mixed"
		}
		found = status
	}
	return found
}

// BecomesIdle waits until the work on a Kyma and its modules is done: its workflow waits for nothing but signals. Kicks that came
// meanwhile are delayed by up to half a minute.
func (s *Environment) BecomesIdle(kyma *v1beta2.Kyma) {
	s.T.Helper()
	s.Eventually("nothing remains to be done for Kyma "+kyma.Name, 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Running", s.WorkflowOf(kyma))
		assert.Empty(c, Pending(s.History(kick.KymaWorkflowID(kick.RefOf(kyma)))))
	})
}

// History reads the whole history of the newest run of a workflow.
func (s *Environment) History(id string) *historypb.History {
	s.T.Helper()
	return s.history(id, "")
}

// history reads that of the newest run where none is given.
func (s *Environment) history(id, run string) *historypb.History {
	s.T.Helper()
	history := &historypb.History{}
	iterator := s.Temporal.GetWorkflowHistory(s.T.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iterator.HasNext() {
		event, err := iterator.Next()
		require.NoError(s.T, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// FailedWorkflowTasks are the events of all workflows that say that a workflow task failed or ran out of time.
func (s *Environment) FailedWorkflowTasks() []string {
	s.T.Helper()
	page, err := s.Temporal.ListWorkflow(s.T.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
	require.NoError(s.T, err)
	require.NotEmpty(s.T, page.GetExecutions())
	require.Empty(s.T, page.GetNextPageToken())
	var failed []string
	for _, execution := range page.GetExecutions() {
		id := execution.GetExecution().GetWorkflowId()
		for _, event := range s.history(id, execution.GetExecution().GetRunId()).GetEvents() {
			if event.GetWorkflowTaskFailedEventAttributes() != nil || event.GetWorkflowTaskTimedOutEventAttributes() != nil {
				failed = append(failed, id+": "+event.String())
			}
		}
	}
	return failed
}

// Kicks are the signals that a workflow got after a time, in the newest run and in those that it continues.
func (s *Environment) Kicks(id string, since time.Time) []kick.Kick {
	s.T.Helper()
	var kicks []kick.Kick
	for run := ""; ; {
		history := s.history(id, run)
		for _, event := range history.GetEvents() {
			signal := event.GetWorkflowExecutionSignaledEventAttributes()
			if signal.GetSignalName() != kick.Signal || event.GetEventTime().AsTime().Before(since) {
				continue
			}
			var k kick.Kick
			require.NoError(s.T, converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &k))
			kicks = append(kicks, k)
		}
		began := history.GetEvents()[0]
		run = began.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		if run == "" || began.GetEventTime().AsTime().Before(since) {
			return kicks
		}
	}
}

// Events counts the events of a Kyma's workflow.
func (s *Environment) Events(kyma *v1beta2.Kyma) int {
	s.T.Helper()
	return len(s.History(kick.KymaWorkflowID(kick.RefOf(kyma))).GetEvents())
}

// Decoded is a history as text, with its payloads readable.
func Decoded(history *historypb.History) string {
	var text strings.Builder
	for _, event := range history.GetEvents() {
		text.WriteString(event.String())
	}
	return text.String()
}

// Pending lists the events of a history that began what has not ended.
func Pending(history *historypb.History) []string {
	begun := map[int64]string{}
	for _, event := range history.GetEvents() {
		switch {
		case event.GetTimerStartedEventAttributes() != nil, event.GetActivityTaskScheduledEventAttributes() != nil,
			event.GetWorkflowTaskScheduledEventAttributes() != nil:
			begun[event.GetEventId()] = event.GetEventType().String()
		}
		delete(begun, event.GetTimerFiredEventAttributes().GetStartedEventId())
		delete(begun, event.GetTimerCanceledEventAttributes().GetStartedEventId())
		delete(begun, event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId())
		delete(begun, event.GetActivityTaskFailedEventAttributes().GetScheduledEventId())
		delete(begun, event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId())
		delete(begun, event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId())
		delete(begun, event.GetWorkflowTaskCompletedEventAttributes().GetScheduledEventId())
		delete(begun, event.GetWorkflowTaskFailedEventAttributes().GetScheduledEventId())
		delete(begun, event.GetWorkflowTaskTimedOutEventAttributes().GetScheduledEventId())
	}
	return slices.Collect(maps.Values(begun))
}
