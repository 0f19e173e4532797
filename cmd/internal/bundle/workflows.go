package bundle

import (
	"context"
	"fmt"
	"net/url"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/temporalproto"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

const (
	// askedAtOnce is how many workflows are queried at once, and answersWithin the timeout of each query.
	askedAtOnce   = 8
	answersWithin = 3 * time.Second
	// eventsOfHistory bounds the events of one history. The newest are kept.
	eventsOfHistory = 2000
)

// ourTypes returns the workflow types that the archive covers.
func ourTypes() []string {
	return []string{kick.KymaWorkflow, kick.SweepWorkflow}
}

// Workflows holds the methods of a Temporal client that the archive uses.
type Workflows interface {
	ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, isLongPoll bool, filter enumspb.HistoryEventFilterType) client.HistoryEventIterator
	Close()
}

// workflow is the entry of one workflow in the archive.
type workflow struct {
	ID      string    `json:"id"`
	Run     string    `json:"run"`
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Started time.Time `json:"started"`
	Events  int64     `json:"events"`
	// Answer is the answer to the status query. Problem is why there is no answer.
	Answer  any    `json:"answer,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (s Sources) addWorkflows(ctx context.Context, a *archive) error {
	temporal, err := s.Temporal(ctx)
	if err != nil {
		a.problem("Temporal: %s", err)
		return nil
	}
	defer temporal.Close()
	open := s.listed(ctx, a, temporal, visibility.Open(ourTypes()...), s.Limits.Workflows)
	described := make([]workflow, 0, len(open))
	for _, each := range open {
		described = append(described, workflow{
			ID: each.GetExecution().GetWorkflowId(), Run: each.GetExecution().GetRunId(), Type: each.GetType().GetName(),
			Status: each.GetStatus().String(), Started: each.GetStartTime().AsTime(), Events: each.GetHistoryLength(),
		})
	}
	ask(ctx, temporal, described[:min(len(described), s.Limits.Asked)])
	if err := a.addJSON("workflows/open.json", described); err != nil {
		return err
	}
	return s.addHistories(ctx, a, temporal, open)
}

// listed returns the workflows that a query finds, newest first.
func (s Sources) listed(ctx context.Context, a *archive, temporal Workflows, query visibility.Query, most int) []*workflowpb.WorkflowExecutionInfo {
	more := false
	all, err := visibility.Ask(query, func(query string) (all []*workflowpb.WorkflowExecutionInfo, err error) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
		for len(all) < most {
			request.PageSize = int32(min(most-len(all), 500)) //nolint:gosec // at most 500
			page, err := temporal.ListWorkflow(ctx, request)
			if err != nil {
				return all, err
			}
			all = append(all, page.GetExecutions()...)
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return all, nil
			}
		}
		more = true
		return all, nil
	})
	if err != nil {
		a.problem("list workflows (%s): %s", query.Text, err)
	}
	if more {
		a.problem("only the first %d workflows are listed (%s)", most, query.Text)
	}
	return all
}

// ask queries the status of workflows.
func ask(ctx context.Context, temporal Workflows, all []workflow) {
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range all {
		if all[i].Type != kick.KymaWorkflow {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, answersWithin)
			defer cancel()
			answer, err := temporal.QueryWorkflow(ctx, all[i].ID, all[i].Run, kick.QueryStatus)
			if err == nil {
				err = answer.Get(&all[i].Answer)
			}
			if err != nil {
				all[i].Problem = err.Error()
			}
			return nil
		})
	}
	_ = group.Wait()
}

// addHistories adds the histories of workflows that failed, of Kymas in Error, and of the workflows that started last.
func (s Sources) addHistories(ctx context.Context, a *archive, temporal Workflows, open []*workflowpb.WorkflowExecutionInfo) error {
	third := max(1, s.Limits.Histories/3)
	chosen := s.listed(ctx, a, temporal, visibility.Failed(ourTypes()...), third)
	chosen = append(chosen, s.listed(ctx, a, temporal, visibility.InError(ourTypes()...), third)...)
	chosen = append(chosen, open...)
	written := map[string]bool{}
	for _, each := range chosen {
		id, run := each.GetExecution().GetWorkflowId(), each.GetExecution().GetRunId()
		if written[run] {
			continue
		}
		if len(written) == s.Limits.Histories {
			return nil
		}
		written[run] = true
		history, err := readHistory(ctx, temporal, id, run)
		if err != nil {
			a.problem("history of %s: %s", id, err)
			continue
		}
		if err := a.add("workflows/histories/"+url.PathEscape(id)+"."+run+".json", history); err != nil {
			return err
		}
	}
	return nil
}

// readHistory returns a history as JSON with readable payloads.
func readHistory(ctx context.Context, temporal Workflows, id, run string) (string, error) {
	history := &historypb.History{}
	events := temporal.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return "", err
		}
		history.Events = append(history.Events, event)
		if len(history.Events) > 2*eventsOfHistory {
			history.Events = history.Events[eventsOfHistory:]
		}
	}
	return readable(ctx, history)
}

// readable returns a history as JSON with decoded payloads. Payloads that are not JSON are omitted, because secrets
// would not be found in base64.
func readable(ctx context.Context, history *historypb.History) (string, error) {
	err := proxy.VisitPayloads(ctx, history, proxy.VisitPayloadsOptions{Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
		plain := make([]*commonpb.Payload, len(payloads))
		for i, payload := range payloads {
			plain[i] = payload
			if encoding := string(payload.GetMetadata()[converter.MetadataEncoding]); encoding != converter.MetadataEncodingJSON {
				left, err := converter.GetDefaultDataConverter().ToPayload(fmt.Sprintf("%d bytes, %s", len(payload.GetData()), encoding))
				if err != nil {
					return nil, err
				}
				plain[i] = left
			}
		}
		return plain, nil
	}})
	if err != nil {
		return "", fmt.Errorf("read the payloads of the history: %w", err)
	}
	options := temporalproto.CustomJSONMarshalOptions{Indent: " ", Metadata: map[string]any{commonpb.EnablePayloadShorthandMetadataKey: true}}
	encoded, err := options.Marshal(history)
	if err != nil {
		return "", fmt.Errorf("encode the history: %w", err)
	}
	return string(encoded), nil
}
