package tracing

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// recorded returns a Tracing that keeps its spans.
func recorded(t *testing.T) (*Tracing, *tracetest.SpanRecorder) {
	t.Helper()
	kept := tracetest.NewSpanRecorder()
	traces, err := with(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept)))
	require.NoError(t, err)
	t.Cleanup(traces.Stop)
	return traces, kept
}

func TestNothingIsTracedWithoutAnEndpoint(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"no endpoint":                   {},
		"an endpoint for metrics only":  {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"},
		"OpenTelemetry is switched off": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"the traces exporter is none":   {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range variables {
				t.Setenv(key, value)
			}
			traces, err := New(t.Context(), "1.2.3", logr.Discard())
			require.NoError(t, err)
			require.Nil(t, traces)
			require.Empty(t, traces.Interceptors(), "no header may get into a history")
			require.Equal(t, http.DefaultTransport, traces.Remote("kcp-system/demo", http.DefaultTransport))
			require.Equal(t, http.DefaultTransport, traces.ControlPlane(http.DefaultTransport))
			_, span := traces.Tracer().Start(t.Context(), "kick Kyma")
			require.False(t, span.SpanContext().IsValid())
			traces.Stop()
		})
	}
}

func TestTheEnvironmentConfiguresHowTracesAreSent(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
	for _, protocol := range []string{"", "http/protobuf", "grpc"} {
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
		traces, err := New(t.Context(), "1.2.3", logr.Discard())
		require.NoError(t, err)
		require.NotEmpty(t, traces.Interceptors())
		traces.Stop()
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	_, err := New(t.Context(), "1.2.3", logr.Discard())
	require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_PROTOCOL must be")
}

func TestARequestHasASpanWithoutItsQuery(t *testing.T) {
	traces, kept := recorded(t)
	var asked, told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked, told = append(asked, r.URL.String()), append(told, r.Header.Get("Traceparent"))
	}))
	t.Cleanup(server.Close)
	send := func(ctx context.Context, through http.RoundTripper) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/secrets?fieldSelector=secret", http.NoBody)
		require.NoError(t, err)
		response, err := through.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	send(t.Context(), traces.Remote("kcp-system/demo", http.DefaultTransport))
	require.Empty(t, kept.Ended(), "a request outside of a trace must not begin one")
	ctx, span := traces.Tracer().Start(t.Context(), "an activity")
	send(ctx, traces.Remote("kcp-system/demo", http.DefaultTransport))
	send(ctx, traces.ControlPlane(http.DefaultTransport))
	span.End()
	require.Len(t, kept.Ended(), 3)
	for _, each := range kept.Ended() {
		require.Equal(t, span.SpanContext().TraceID(), each.SpanContext().TraceID())
		for _, attribute := range each.Attributes() {
			require.NotContains(t, attribute.Value.String(), "fieldSelector", attribute.Key)
		}
	}
	const whole = "/api/v1/secrets?fieldSelector=secret"
	require.Equal(t, []string{whole, whole, whole}, asked)
	require.Empty(t, told[1], "a remote cluster must not get the trace context")
	require.NotEmpty(t, told[2])
}

// header returns a header with this span, as a client sends it.
func header(t *testing.T, span trace.Span) *commonpb.Header {
	t.Helper()
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(t.Context(), span), fields)
	payload, err := converter.GetDefaultDataConverter().ToPayload(map[string]string(fields))
	require.NoError(t, err)
	return &commonpb.Header{Fields: map[string]*commonpb.Payload{headerKey: payload}}
}

// run runs a workflow that runs an activity and a local activity. The start carries this header.
func run(t *testing.T, traces *Tracing, started *commonpb.Header, name string) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	if started != nil {
		suite.SetHeader(started)
	}
	env := suite.NewTestWorkflowEnvironment()
	var workers []interceptor.WorkerInterceptor
	for _, each := range traces.Interceptors() {
		workers = append(workers, each.(interceptor.WorkerInterceptor)) //nolint:errcheck,forcetypeassert // it must implement it
	}
	// The first run computes a checksum of the binary. On a busy machine that takes more than a second, the default
	// timeout.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 30 * time.Second, Interceptors: workers})
	step := func(context.Context) error { return nil }
	env.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: "WalkShard"})
	env.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: "ApplyManifest"})
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 1e9})
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 1e9})
		taken := "ApplyManifest"
		if name == kick.SweepWorkflow {
			taken = "WalkShard"
		}
		if err := workflow.ExecuteActivity(ctx, taken).Get(ctx, nil); err != nil {
			return err
		}
		return workflow.ExecuteLocalActivity(ctx, step).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: name})
	env.ExecuteWorkflow(name)
	require.NoError(t, env.GetWorkflowError())
}

func TestTheStepsOfAWorkflowBelongToTheTraceOfItsStart(t *testing.T) {
	traces, kept := recorded(t)
	_, event := traces.Tracer().Start(t.Context(), "kick Manifest")
	run(t, traces, header(t, event), kick.KymaWorkflow)
	var names []string
	for _, span := range kept.Ended() {
		require.Equal(t, event.SpanContext().TraceID(), span.SpanContext().TraceID(), span.Name())
		names = append(names, span.Name())
	}
	require.Contains(t, names, "StartActivity:ApplyManifest")
	require.Contains(t, names, "RunActivity:ApplyManifest")
	require.Len(t, names, 4, "a workflow run, which may last for months, must not be a span")
}

func TestAWalkOfTheSweepIsNotTraced(t *testing.T) {
	traces, kept := recorded(t)
	run(t, traces, nil, kick.SweepWorkflow)
	for _, span := range kept.Ended() {
		require.NotContains(t, span.Name(), "WalkShard")
		require.NotContains(t, span.Name(), "SweepWorkflow")
	}
}
