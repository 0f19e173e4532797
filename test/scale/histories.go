package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
)

// sampled is how many Kymas are sampled for the length of their histories.
const sampled = 10

// past is the sum over the runs of one workflow.
type past struct {
	kind                string
	runs, events, bytes int64
	// inPhase are the events since the phase began.
	inPhase int64
}

// sumUp describes workflows by their type.
func sumUp(pasts map[string]past) map[string]record.History {
	all, inPhase := map[string]record.History{}, map[string][]int64{}
	for _, one := range pasts {
		inPhase[one.kind] = append(inPhase[one.kind], one.inPhase)
		h := all[one.kind]
		h.Workflows++
		h.Runs += float64(one.runs)
		h.Events += float64(one.events)
		h.Bytes += float64(one.bytes)
		h.Most = max(h.Most, one.events)
		all[one.kind] = h
	}
	for kind, h := range all {
		n := float64(h.Workflows)
		h.Runs, h.Events, h.Bytes = record.Round(h.Runs/n), record.Round(h.Events/n), record.Round(h.Bytes/n)
		slices.Sort(inPhase[kind])
		h.InPhase = inPhase[kind][len(inPhase[kind])/2]
		all[kind] = h
	}
	return all
}

func (e *environment) dialTemporal(ctx context.Context) (client.Client, error) {
	temporal, err := client.DialContext(ctx, client.Options{HostPort: e.fleet.Temporal.Address, Namespace: e.fleet.Temporal.Namespace, Logger: quiet{}})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	return temporal, nil
}

// sampleHistories reads the workflows of some of these Kymas, and counts the events since the phase began.
func (e *environment) sampleHistories(ctx context.Context, kymas []int, since time.Time) (map[string]record.History, error) {
	temporal, err := e.dialTemporal(ctx)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	pasts := map[string]past{}
	every := max(1, len(kymas)/sampled)
	for i := 0; i < len(kymas) && i/every < sampled; i += every {
		if err := e.addPasts(ctx, temporal, fmt.Sprintf("KymaName = '%s'", kymaName(kymas[i])), since, pasts); err != nil {
			return nil, err
		}
	}
	return sumUp(pasts), nil
}

// addPasts adds the runs of the workflows that a query finds.
func (e *environment) addPasts(ctx context.Context, temporal client.Client, query string, since time.Time, pasts map[string]past) error {
	found, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: e.fleet.Temporal.Namespace, Query: query})
	if err != nil {
		return fmt.Errorf("list the workflows with %s: %w", query, err)
	}
	for _, execution := range found.GetExecutions() {
		id := execution.GetExecution()
		// What the list says of the length is of ended runs only.
		described, err := temporal.DescribeWorkflow(ctx, id.GetWorkflowId(), id.GetRunId())
		if err != nil {
			return fmt.Errorf("describe a run of %s: %w", id.GetWorkflowId(), err)
		}
		info := described.RawResponse.GetWorkflowExecutionInfo()
		one := pasts[id.GetWorkflowId()]
		one.kind = info.GetType().GetName()
		one.runs++
		one.events += info.GetHistoryLength()
		one.bytes += info.GetHistorySizeBytes()
		added, err := eventsSince(ctx, temporal, id, since)
		if err != nil {
			return err
		}
		one.inPhase += added
		pasts[id.GetWorkflowId()] = one
	}
	return nil
}

// eventsSince is how many events a run has since then; since zero, it is not asked.
func eventsSince(ctx context.Context, temporal client.Client, run *common.WorkflowExecution, since time.Time) (int64, error) {
	if since.IsZero() {
		return 0, nil
	}
	var number int64
	events := temporal.GetWorkflowHistory(ctx, run.GetWorkflowId(), run.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return 0, fmt.Errorf("read the history of a run of %s: %w", run.GetWorkflowId(), err)
		}
		if event.GetEventTime().AsTime().After(since) {
			number++
		}
	}
	return number, nil
}

// historyOf is that of one workflow, of all its runs.
func (e *environment) historyOf(ctx context.Context, id string) (record.History, error) {
	temporal, err := e.dialTemporal(ctx)
	if err != nil {
		return record.History{}, err
	}
	defer temporal.Close()
	pasts := map[string]past{}
	if err := e.addPasts(ctx, temporal, fmt.Sprintf("WorkflowId = '%s'", id), time.Time{}, pasts); err != nil {
		return record.History{}, err
	}
	return sumUp(pasts)[pasts[id].kind], nil
}

// openKymas is the number of Kymas' workflows that are active or asleep.
func (e *environment) openKymas(ctx context.Context) (int64, error) {
	temporal, err := e.dialTemporal(ctx)
	if err != nil {
		return 0, err
	}
	defer temporal.Close()
	counted, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: e.fleet.Temporal.Namespace, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", kick.KymaWorkflow),
	})
	return counted.GetCount(), err
}
