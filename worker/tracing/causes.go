package tracing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// spanKey is the context key of the span that a workflow's steps belong to.
type spanKey struct{}

const (
	// headerKey is the field in Temporal's headers that holds the span. All Temporal SDKs use this name.
	headerKey = "_tracer-data"
	// asCause is the operation name that marks a span from a header. startSpan creates no new span for it.
	asCause = "Cause"
)

// interceptors returns Temporal's tracing interceptor and, inside it, one for the causes of a workflow's steps.
func interceptors(tracer trace.Tracer) ([]interceptor.ClientInterceptor, error) {
	traced, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{
		Tracer: tracer, TextMapPropagator: propagation.TraceContext{}, DisableBaggage: true, DisableQueryTracing: true,
		AllowInvalidParentSpans: true, SpanContextKey: spanKey{}, HeaderKey: headerKey, SpanStarter: startSpan,
	})
	if err != nil {
		return nil, fmt.Errorf("create the tracer for workflows: %w", err)
	}
	return []interceptor.ClientInterceptor{interceptor.NewTracingInterceptor(traced), &causes{tracer: traced}}, nil
}

// startSpan starts a span, except for spans of no use. A Kyma's workflow runs for months, and its span would be sent
// only when it ends. A walk of the sweep covers a whole shard.
func startSpan(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	operation, of, _ := strings.Cut(name, ":")
	switch {
	case operation == asCause, operation == "RunWorkflow":
		return trace.SpanFromContext(ctx)
	case slices.Contains([]string{kick.SweepWorkflow, "WalkShard"}, of):
		return trace.SpanFromContext(context.Background()) //nolint:contextcheck // a span that records nothing
	}
	_, span := tracer.Start(ctx, name, options...)
	return span
}

// causes makes a workflow's steps belong to the trace of the last signal. Otherwise they would belong to the trace of
// the workflow's start, which may be months ago. Its state depends only on the history. It changes only the headers
// of commands, which a replay does not compare.
type causes struct {
	interceptor.InterceptorBase
	tracer interceptor.Tracer
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (c *causes) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &causedWorkflow{tracer: c.tracer}
	w.Next = next
	return w
}

type causedWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
	tracer interceptor.Tracer
	// cause is nil if the cause is unknown.
	cause interceptor.TracerSpan
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (w *causedWorkflow) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	steps := &causedSteps{of: w}
	steps.Next = outbound
	return w.Next.Init(steps)
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (w *causedWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if w.cause == nil {
		w.cause = w.causeIn(ctx)
	}
	return w.Next.ExecuteWorkflow(ctx, in)
}

// HandleSignal implements interceptor.WorkflowInboundInterceptor.
func (w *causedWorkflow) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	w.cause = w.causeIn(ctx)
	return w.Next.HandleSignal(ctx, in)
}

// causeIn returns the span in the header of a start or signal, or nil if the header has none or cannot be read.
func (w *causedWorkflow) causeIn(ctx workflow.Context) interceptor.TracerSpan {
	payload, ok := interceptor.WorkflowHeader(ctx)[headerKey]
	if !ok {
		return nil
	}
	var data map[string]string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &data); err != nil {
		return nil
	}
	parent, err := w.tracer.UnmarshalSpan(data)
	if err != nil || parent == nil {
		return nil
	}
	span, err := w.tracer.StartSpan(&interceptor.TracerStartSpanOptions{Operation: asCause, Parent: parent})
	if err != nil {
		return nil
	}
	return span
}

// caused returns a context in which new steps belong to the cause.
func (w *causedWorkflow) caused(ctx workflow.Context) workflow.Context {
	return workflow.WithValue(ctx, spanKey{}, w.cause)
}

type causedSteps struct {
	interceptor.WorkflowOutboundInterceptorBase
	of *causedWorkflow
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (s *causedSteps) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	return s.Next.ExecuteActivity(s.of.caused(ctx), name, args...)
}

// ExecuteLocalActivity implements interceptor.WorkflowOutboundInterceptor.
func (s *causedSteps) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	return s.Next.ExecuteLocalActivity(s.of.caused(ctx), name, args...)
}

// NewContinueAsNewError implements interceptor.WorkflowOutboundInterceptor.
func (s *causedSteps) NewContinueAsNewError(ctx workflow.Context, name any, args ...any) error {
	return s.Next.NewContinueAsNewError(s.of.caused(ctx), name, args...)
}
