// Package origin records on a Manifest which change it was last written for: when a watcher saw the change, and its
// trace.
package origin

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Annotations about the change that a Manifest was last written for.
const (
	// AnnotationBackground marks a Manifest that was last written for a change that concerns many Kymas, such as a new
	// version in the catalog. Other work goes before the work on this Manifest.
	AnnotationBackground = shared.OperatorGroup + "/background"
	// AnnotationSince is the time at which a watcher saw the change that the spec was last written for.
	AnnotationSince = shared.OperatorGroup + "/since"
	// AnnotationTrace is the trace of the change that the spec was last written for. It is set only if traces are sent.
	AnnotationTrace = shared.OperatorGroup + "/trace"
)

// Since returns when a watcher saw the change that the spec of a Manifest was written for. It returns zero once a
// reconcile has begun with that spec. It also returns zero if someone else wrote the spec, because then the annotation
// is about an earlier one.
func Since(m *v1beta2.Manifest) time.Time {
	if !isToBegin(m) {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, m.Annotations[AnnotationSince])
	if err != nil {
		return time.Time{}
	}
	return at
}

// isToBegin reports whether we wrote the spec of a Manifest and no reconcile has begun with it yet.
func isToBegin(m *v1beta2.Manifest) bool {
	return m.Generation > m.Status.ObservedGeneration && m.Annotations[desired.AnnotationSpecDigest] == desired.SpecDigest(m.Spec)
}

// traceparent is the name of the W3C trace context header.
const traceparent = "traceparent"

// TraceOf returns the trace of a context in the format of AnnotationTrace; empty if the context has no trace.
func TraceOf(ctx context.Context) string {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields[traceparent]
}

// InTrace returns a context in the trace that the spec of a Manifest was written in, under the same condition as Since.
func InTrace(ctx context.Context, m *v1beta2.Manifest) context.Context {
	if !isToBegin(m) {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: m.Annotations[AnnotationTrace]})
}
