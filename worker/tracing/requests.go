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

// ControlPlane makes spans of the requests to the control plane, whose API server may have spans of its own beneath.
func (t *Tracing) ControlPlane(next http.RoundTripper) http.RoundTripper {
	return t.requests(next, propagation.TraceContext{})
}

// Remote makes spans of the requests to a remote cluster, which is told nothing of them.
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

// withoutQuery keeps the query of a request out of its span, which has its address otherwise. Requests that belong to no
// trace, such as those of informers, begin none.
type withoutQuery struct{ plain, traced http.RoundTripper }

// addressKey is what the whole address of a request is found by.
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

// WrappedRoundTripper lets client-go find the transport beneath.
func (w withoutQuery) WrappedRoundTripper() http.RoundTripper { return w.plain }

// withQuery gives a request its whole address back.
type withQuery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w withQuery) RoundTrip(request *http.Request) (*http.Response, error) {
	if whole, ok := request.Context().Value(addressKey{}).(*url.URL); ok {
		request = request.WithContext(request.Context())
		request.URL = whole
	}
	return w.next.RoundTrip(request)
}
