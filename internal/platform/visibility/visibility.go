// Package visibility has every query that the product sends to Temporal's visibility, so that a test can run all of them on
// each supported server (test/signals).
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

// Query is a query in the form for each supported server.
type Query struct {
	// Text is for servers that know paused workflows and TemporalReportedProblems.
	Text string
	// Earlier is for servers such as 1.29, which refuse the words of Text that they do not know. It is empty if such a server
	// can have no workflow that Text finds.
	Earlier string
}

// Ask sends the query, and sends its earlier form if the server refuses it. Without an earlier form the answer is then the zero
// value.
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

// isRefused reports whether the server does not accept a query, by an error of the SDK or of gRPC.
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
	// failing finds workflows whose workflow tasks failed several times in a row. The server sets the attribute, and removes
	// it with the first task that completes.
	failing = `(` + running + ` AND TemporalReportedProblems IN ("category=WorkflowTaskFailed", "category=WorkflowTaskTimedOut"))`
)

// Open finds the workflows of these types that have not ended. Paused workflows are among them.
func Open(types ...string) Query {
	return Query{Text: of(types, `ExecutionStatus IN ("Running", "Paused")`), Earlier: of(types, running)}
}

// Held finds the workflows of these types that make no progress until somebody helps: an operator paused them in Temporal, or
// their workflow tasks fail again and again.
func Held(types ...string) Query { return Query{Text: of(types, `(`+paused+` OR `+failing+`)`)} }

// Failed finds the runs of these types that did not end well.
func Failed(types ...string) Query {
	return same(of(types, `ExecutionStatus IN ("Failed", "Terminated", "TimedOut")`))
}

// InError finds the running workflows of these types whose Kyma has the state Error.
func InError(types ...string) Query {
	return same(of(types, running+` AND `+kick.AttributeKymaState+` = "Error"`))
}

// All are all queries.
func All() []Query {
	queries := []Query{InError(kick.KymaWorkflow)}
	for _, each := range kick.Workflows() {
		queries = append(queries, Open(each), Held(each), Failed(each))
	}
	return queries
}

func same(text string) Query { return Query{Text: text, Earlier: text} }

// of limits a condition to workflows of these types: others may work in the Temporal namespace of an instance too.
func of(types []string, condition string) string {
	quoted := lists.Map(slices.Sorted(slices.Values(types)), func(each string) string { return `"` + each + `"` })
	return fmt.Sprintf("WorkflowType IN (%s) AND %s", strings.Join(quoted, ", "), condition)
}

// HeldWorkflow is a workflow that Held found.
type HeldWorkflow struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Problems are what the server reports in TemporalReportedProblems. A workflow without problems is paused.
	Problems []string `json:"problems,omitempty"`
}

// HeldOf returns what is said of a workflow that Held found.
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

// String says what holds the workflow, and what to do about it.
func (h HeldWorkflow) String() string {
	if h.IsPaused() {
		return "paused in Temporal, so that no change is worked on: to go on, run temporal workflow unpause --workflow-id " + h.ID
	}
	return "its workflow tasks fail (" + strings.Join(h.Problems, ", ") + "): for the error, run temporal workflow show --workflow-id " + h.ID
}
