// Package origin says of what a Manifest was last written for when a watcher saw it, and in which trace.
package origin

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Annotations of a Manifest that say what it was last written for.
const (
	// AnnotationBackground on a Manifest says that it was written last for a change that concerns many Kymas, such as a
	// new version in the catalog: the work on it makes way for others.
	AnnotationBackground = shared.OperatorGroup + "/background"
	// AnnotationSince on a Manifest is when a watcher saw the change that its spec was last written for.
	AnnotationSince = shared.OperatorGroup + "/since"
	// AnnotationTrace on a Manifest is the trace of the change that its spec was last written for, where traces are sent.
	AnnotationTrace = shared.OperatorGroup + "/trace"
)

// Since is when a watcher saw the change that the spec of a Manifest was written for, while no reconcile of the Manifest has
// begun with that spec; otherwise zero. A spec that somebody else wrote has none: what the annotation says is of an earlier
// one.
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

// isToBegin tells whether no reconcile of a Manifest has begun with its spec, which we wrote ourselves.
func isToBegin(m *v1beta2.Manifest) bool {
	return m.Generation > m.Status.ObservedGeneration && m.Annotations[desired.AnnotationSpecDigest] == desired.SpecDigest(m.Spec)
}

// traceparent is the field of a trace in the format of the W3C.
const traceparent = "traceparent"

// TraceOf is the trace that a context is in, as the annotation has it; empty where it is in none.
func TraceOf(ctx context.Context) string {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields[traceparent]
}

// InTrace is a context in the trace that the spec of a Manifest was written in, under the same condition as Since.
func InTrace(ctx context.Context, m *v1beta2.Manifest) context.Context {
	if !isToBegin(m) {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: m.Annotations[AnnotationTrace]})
}
