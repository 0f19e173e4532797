// Package tracing sends traces with OpenTelemetry's protocol (OTLP) if its standard environment variables name an
// endpoint. A trace leads from the event that a watcher saw, through workflows and activities, to the requests to API
// servers. Without an endpoint New returns nil, and there is no tracer, no goroutine and no header in any history.
// All methods work on nil.
//
//	tracing.go   configuration; New is the entry point
//	causes.go    links a workflow's steps to the trace of the last kick
//	requests.go  spans for requests to API servers
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/interceptor"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// serviceName is the default service name. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it.
const serviceName = "lifecycle-manager"

// flushTimeout bounds how long a stopping process sends the last traces.
const flushTimeout = 5 * time.Second

// Tracing creates traces. A nil Tracing creates none.
type Tracing struct {
	provider     *sdktrace.TracerProvider
	interceptors []interceptor.ClientInterceptor
}

// New returns the Tracing that the environment configures, or nil if none is configured. It makes no requests.
func New(ctx context.Context, version string, log logr.Logger) (*Tracing, error) {
	if !isAsked() {
		return nil, nil //nolint:nilnil // nil means that tracing is off
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	us, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", serviceName), attribute.String("service.version", version)),
		resource.WithFromEnv(), resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, fmt.Errorf("read the environment for traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Info("traces cannot be sent", logkey.Error, err.Error())
	}))
	return with(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(us)))
}

// isAsked reports whether the environment names an endpoint and does not switch traces off.
func isAsked() bool {
	endpoint := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return endpoint != "" && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") && os.Getenv("OTEL_TRACES_EXPORTER") != "none"
}

func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlptrace.New(ctx, otlptracehttp.NewClient())
	case "grpc":
		return otlptrace.New(ctx, otlptracegrpc.NewClient())
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc, not %q", protocol)
	}
}

func with(provider *sdktrace.TracerProvider) (*Tracing, error) {
	t := &Tracing{provider: provider}
	var err error
	t.interceptors, err = interceptors(t.Tracer())
	return t, err
}

// Tracer returns the tracer for our own spans. It records none if tracing is off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return noop.NewTracerProvider().Tracer(serviceName)
	}
	return t.provider.Tracer(serviceName)
}

// Interceptors returns the interceptors for a Temporal client. Workers of that client use them too.
func (t *Tracing) Interceptors() []interceptor.ClientInterceptor {
	if t == nil {
		return nil
	}
	return t.interceptors
}

// Stop sends the remaining traces, for at most flushTimeout.
func (t *Tracing) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
