package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Budgets of the design, section 4: events in the histories of a Kyma and its Manifests together.
const (
	budgetFirstInstall  = 140
	budgetFurtherModule = 60
	budgetFiftyKicks    = 300
)

// history reads the whole history of the newest run of a workflow.
func (s *stage) history(id string) *historypb.History {
	s.t.Helper()
	history := &historypb.History{}
	iterator := s.temporal.GetWorkflowHistory(ctx(s.t), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iterator.HasNext() {
		event, err := iterator.Next()
		require.NoError(s.t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// becomesIdle waits until the work on a Kyma is done: its Manifests' workflows have ended, and its own waits for
// nothing but signals. Kicks that came while it worked are held for up to half a minute.
func (s *stage) becomesIdle(kyma *v1beta2.Kyma) {
	s.t.Helper()
	s.eventually("nothing is left to do for Kyma "+kyma.Name, 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, map[string]string{kick.KymaWorkflow: "Running", kick.ManifestWorkflow: "Completed"}, s.workflowsOf(kyma))
		assert.Empty(c, pending(s.history(kick.KymaWorkflowID(kick.RefOf(kyma)))))
	})
}

// pending names the events of a history that have begun what has not ended.
func pending(history *historypb.History) []string {
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

// decoded is a history as text, with its payloads readable.
func decoded(history *historypb.History) string {
	var text strings.Builder
	for _, event := range history.GetEvents() {
		text.WriteString(event.String())
	}
	return text.String()
}

// events counts the events of a Kyma's workflow and those of its Manifests.
func (s *stage) events(kyma *v1beta2.Kyma) (total int, parts string) {
	s.t.Helper()
	of := len(s.history(kick.KymaWorkflowID(kick.RefOf(kyma))).GetEvents())
	total, parts = of, fmt.Sprintf("Kyma %d", of)
	for _, m := range s.manifests(kyma) {
		of := len(s.history(kick.ManifestWorkflowID(kick.RefOf(&m))).GetEvents())
		total += of
		parts += fmt.Sprintf(", %s %d", m.Name, of)
	}
	return total, parts
}

// assertHistoryBudgets compares a first installation with its budget. These are counts, so they are stable.
func (s *stage) assertHistoryBudgets(t *testing.T, kyma *v1beta2.Kyma) {
	t.Helper()
	total, parts := s.events(kyma)
	t.Logf("history events of a first installation: %d (%s)", total, parts)
	modules := len(kyma.Status.Modules)
	require.LessOrEqual(t, total, budgetFirstInstall+(modules-1)*budgetFurtherModule, parts)
}

// recordHistories keeps the histories of a scenario for the replay tests, when asked to by `make record-histories`.
func (s *stage) recordHistories(scenario string, kyma *v1beta2.Kyma) {
	s.t.Helper()
	if os.Getenv("RECORD_HISTORIES") == "" {
		return
	}
	folder := filepath.Join(testfleet.Root(s.t), "test", "replay", "histories", os.Getenv("RECORD_HISTORIES"))
	require.NoError(s.t, os.MkdirAll(folder, 0o755))
	s.record(filepath.Join(folder, scenario+"-kyma.json"), kick.KymaWorkflowID(kick.RefOf(kyma)))
	for _, m := range s.manifests(kyma) {
		s.record(filepath.Join(folder, scenario+"-manifest.json"), kick.ManifestWorkflowID(kick.RefOf(&m)))
	}
}

func (s *stage) record(path, id string) {
	s.t.Helper()
	content, err := protojson.MarshalOptions{Indent: " "}.Marshal(s.history(id))
	require.NoError(s.t, err)
	// A history is published with the code: nothing of the machine that recorded it belongs there.
	host, err := os.Hostname()
	require.NoError(s.t, err)
	text := strings.ReplaceAll(string(content), "@"+host+"@", "@recorder@")
	require.NoError(s.t, os.WriteFile(path, []byte(text+"\n"), 0o644))
}
