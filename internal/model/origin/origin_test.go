package origin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// The time of an earlier change would make the new one seem to have taken days.
func TestTheTimeOfAChangeCountsOnlyForTheSpecWrittenForIt(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 123_000_000, time.UTC)
	written := func(change func(*v1beta2.Manifest)) *v1beta2.Manifest {
		m := &v1beta2.Manifest{Spec: v1beta2.ManifestSpec{Version: "1.0.0"}}
		m.Generation, m.Status.ObservedGeneration = 3, 2
		m.Annotations = map[string]string{AnnotationSince: at.Format(time.RFC3339Nano), desired.AnnotationSpecDigest: desired.SpecDigest(m.Spec)}
		change(m)
		return m
	}
	require.Equal(t, at, Since(written(func(*v1beta2.Manifest) {})))
	for name, change := range map[string]func(*v1beta2.Manifest){
		"a reconcile has begun with it": func(m *v1beta2.Manifest) { m.Status.ObservedGeneration = 3 },
		"someone else wrote the spec":   func(m *v1beta2.Manifest) { m.Spec.Version = "2.0.0" },
		"the annotation is missing":     func(m *v1beta2.Manifest) { delete(m.Annotations, AnnotationSince) },
		"the annotation is not a time":  func(m *v1beta2.Manifest) { m.Annotations[AnnotationSince] = "yesterday" },
	} {
		require.Zero(t, Since(written(change)), name)
	}
}
