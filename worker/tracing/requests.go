package tracing

import (
	"context"
	"net/http"
	"net/url"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// ControlPlane adds spans for requests to the control plane. It sends the trace context, so that the API server can
// add its own spans.
func (t *Tracing) ControlPlane(next http.RoundTripper) http.RoundTripper {
	return t.requests(next, propagation.TraceContext{})
}

// Remote adds spans for requests to a remote cluster. It sends no trace context.
func (t *Tracing) Remote(_ string, next http.RoundTripper) http.RoundTripper {
	return t.requests(next, propagation.NewCompositeTextMapPropagator())
}

func (t *Tracing) requests(next http.RoundTripper, tells propagation.TextMapPropagator) http.RoundTripper {
	if t == nil {
		return next
	}
	return withoutQuery{plain: next, traced: otelhttp.NewTransport(withQuery{next},
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithMeterProvider(noop.NewMeterProvider()), otelhttp.WithPropagators(tells))}
}

// withoutQuery removes the query of a request from its span, which otherwise records the full URL. It starts no
// trace: requests outside of a trace, for example by informers, get no span.
type withoutQuery struct{ plain, traced http.RoundTripper }

// addressKey is the context key of a request's full URL.
type addressKey struct{}

// RoundTrip implements http.RoundTripper.
func (w withoutQuery) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return w.plain.RoundTrip(request)
	}
	bare := *request.URL
	bare.RawQuery, bare.ForceQuery = "", false
	told := request.WithContext(context.WithValue(ctx, addressKey{}, request.URL))
	told.URL = &bare
	return w.traced.RoundTrip(told)
}

// WrappedRoundTripper returns the wrapped transport to client-go.
func (w withoutQuery) WrappedRoundTripper() http.RoundTripper { return w.plain }

// withQuery restores the full URL of a request.
type withQuery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w withQuery) RoundTrip(request *http.Request) (*http.Response, error) {
	if whole, ok := request.Context().Value(addressKey{}).(*url.URL); ok {
		request = request.WithContext(request.Context())
		request.URL = whole
	}
	return w.next.RoundTrip(request)
}
