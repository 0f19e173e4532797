// Package visibility defines every query that the product sends to Temporal's visibility store, so that a test can run
// all of them on each supported server (test/signals).
package visibility

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Query is a query in one form per kind of supported server.
type Query struct {
	// Text is for servers that know paused workflows and TemporalReportedProblems.
	Text string
	// Earlier is for older servers, for example 1.29, which refuse the unknown words in Text. It is empty if an older
	// server can have no workflow that Text finds.
	Earlier string
}

// Ask sends the query, and sends its earlier form if the server refuses the query. If there is no earlier form, Ask
// returns the zero value.
func Ask[T any](q Query, send func(query string) (T, error)) (T, error) {
	answer, err := send(q.Text)
	if q.Text == q.Earlier || !isRefused(err) {
		return answer, err
	}
	if q.Earlier == "" {
		var none T
		return none, nil
	}
	return send(q.Earlier)
}

// isRefused reports whether an error of the SDK or of gRPC means that the server does not accept the query.
func isRefused(err error) bool {
	if err == nil {
		return false
	}
	var refused *serviceerror.InvalidArgument
	return errors.As(err, &refused) || errors.As(serviceerror.FromStatus(serviceerror.ToStatus(err)), &refused)
}

const (
	running = `ExecutionStatus = "Running"`
	paused  = `ExecutionStatus = "Paused"`
	// failing finds workflows with several failed workflow tasks in a row. The server sets the attribute, and removes
	// it with the next task that completes.
	failing = `(` + running + ` AND TemporalReportedProblems IN ("category=WorkflowTaskFailed", "category=WorkflowTaskTimedOut"))`
)

// Open finds the workflows of these types that have not ended, including paused ones.
func Open(types ...string) Query {
	return Query{Text: of(types, `ExecutionStatus IN ("Running", "Paused")`), Earlier: of(types, running)}
}

// Held finds the workflows of these types that make no progress until a person helps: an operator paused them in
// Temporal, or their workflow tasks keep failing.
func Held(types ...string) Query { return Query{Text: of(types, `(`+paused+` OR `+failing+`)`)} }

// Failed finds the runs of these types that failed, timed out or were terminated.
func Failed(types ...string) Query {
	return same(of(types, `ExecutionStatus IN ("Failed", "Terminated", "TimedOut")`))
}

// InError finds the running workflows of these types that belong to a Kyma with the state Error.
func InError(types ...string) Query {
	return same(of(types, running+` AND `+kick.AttributeKymaState+` = "Error"`))
}

// All returns all queries.
func All() []Query {
	queries := []Query{InError(kick.KymaWorkflow)}
	for _, each := range kick.Workflows() {
		queries = append(queries, Open(each), Held(each), Failed(each))
	}
	return queries
}

func same(text string) Query { return Query{Text: text, Earlier: text} }

// of limits a condition to workflows of these types, because other applications may share the Temporal namespace of an
// instance.
func of(types []string, condition string) string {
	quoted := lists.Map(slices.Sorted(slices.Values(types)), func(each string) string { return `"` + each + `"` })
	return fmt.Sprintf("WorkflowType IN (%s) AND %s", strings.Join(quoted, ", "), condition)
}

// HeldWorkflow is a workflow that Held found.
type HeldWorkflow struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Problems holds the server's TemporalReportedProblems. A workflow without problems is paused.
	Problems []string `json:"problems,omitempty"`
}

// HeldOf describes a workflow that Held found.
func HeldOf(execution *workflowpb.WorkflowExecutionInfo) HeldWorkflow {
	held := HeldWorkflow{ID: execution.GetExecution().GetWorkflowId(), Type: execution.GetType().GetName()}
	if execution.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED {
		return held
	}
	reported := execution.GetSearchAttributes().GetIndexedFields()["TemporalReportedProblems"]
	if err := converter.GetDefaultDataConverter().FromPayload(reported, &held.Problems); err != nil || len(held.Problems) == 0 {
		held.Problems = []string{"unknown"}
	}
	return held
}

// IsPaused reports whether an operator paused the workflow.
func (h HeldWorkflow) IsPaused() bool { return len(h.Problems) == 0 }

// String returns the reason why the workflow is held, and the command that helps.
func (h HeldWorkflow) String() string {
	if h.IsPaused() {
		return "paused in Temporal, so no change takes effect: to resume it, run temporal workflow unpause --workflow-id " + h.ID
	}
	return "its workflow tasks keep failing (" + strings.Join(h.Problems, ", ") + "): to see the error, run temporal workflow show --workflow-id " + h.ID
}
