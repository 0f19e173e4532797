// Package tracing sends traces by OpenTelemetry's protocol where its standard environment variables name an endpoint. A trace
// leads from the event that a watcher saw over workflows and activities to the requests to API servers. Without an endpoint
// there is no tracer, no header in any history, no goroutine, and New returns nil, on which every method works.
//
//	tracing.go   whether and where to; New is the entry point
//	causes.go    what a workflow does belongs to the trace of the kick that it received last
//	requests.go  requests to API servers
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

// serviceName is what we are called where OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say nothing else.
const serviceName = "lifecycle-manager"

// flushTimeout bounds how long the end of the process waits for the last traces to be sent.
const flushTimeout = 5 * time.Second

// Tracing makes traces. Nil makes none.
type Tracing struct {
	provider     *sdktrace.TracerProvider
	interceptors []interceptor.ClientInterceptor
}

// New makes what the environment asks for; nil where that is nothing. It makes no request.
func New(ctx context.Context, version string, log logr.Logger) (*Tracing, error) {
	if !isAsked() {
		return nil, nil //nolint:nilnil // tracing is off, and nil is how that is
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

// isAsked tells whether the environment names an endpoint, and nothing there switches traces off.
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

// Tracer is for spans of our own; it makes none where tracing is off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return noop.NewTracerProvider().Tracer(serviceName)
	}
	return t.provider.Tracer(serviceName)
}

// Interceptors are those of a Temporal client, and so of the workers that use it.
func (t *Tracing) Interceptors() []interceptor.ClientInterceptor {
	if t == nil {
		return nil
	}
	return t.interceptors
}

// Stop sends what was not sent yet. It does not wait for long.
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
