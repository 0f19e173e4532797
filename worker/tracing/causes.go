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

// spanKey is what the span is found by that a workflow's steps belong to.
type spanKey struct{}

const (
	// headerKey is the field of Temporal's headers that has the span; that of all its SDKs.
	headerKey = "_tracer-data"
	// asCause is the operation of a span that is none of its own: it stands for the one in a header.
	asCause = "Cause"
)

// interceptors are Temporal's own, and inside of it one for the causes of what workflows do.
func interceptors(tracer trace.Tracer) ([]interceptor.ClientInterceptor, error) {
	traced, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{
		Tracer: tracer, TextMapPropagator: propagation.TraceContext{}, DisableBaggage: true, DisableQueryTracing: true,
		AllowInvalidParentSpans: true, SpanContextKey: spanKey{}, HeaderKey: headerKey, SpanStarter: startSpan,
	})
	if err != nil {
		return nil, fmt.Errorf("make the tracer of workflows: %w", err)
	}
	return []interceptor.ClientInterceptor{interceptor.NewTracingInterceptor(traced), &causes{tracer: traced}}, nil
}

// startSpan starts a span, but for those that would tell nothing. A Kyma's workflow runs for months, and its span would be
// sent at its end; a walk of the sweep does what concerns a whole shard.
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

// causes has what a workflow does belong to the trace of the signal that it received last, and not to that of its start,
// which may be months ago. What it keeps follows from the history alone, and changes no command but its header, which a
// replay does not compare.
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
	// cause is nil where nothing is known of it.
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

// causeIn is the span that the header of a start or signal names. What cannot be read names none.
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

// caused is a context in which what is started belongs to the cause.
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
