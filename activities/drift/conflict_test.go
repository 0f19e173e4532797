package drift

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func managed(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, APIVersion: "v1", FieldsV1: fieldsOf(fields),
	}
}

const us = "declarative.kyma-project.io/applier"

func TestWhoTookAFieldFromUs(t *testing.T) {
	t.Parallel()
	after := []metav1.ManagedFieldsEntry{managed(us, "Apply", "", `{"f:data":{"f:a":{},"f:b":{}}}`)}
	for what, test := range map[string]struct {
		before []metav1.ManagedFieldsEntry
		want   Loss
		none   bool
	}{
		"nothing was taken": {before: after, none: true},
		"one manager took a field": {
			before: []metav1.ManagedFieldsEntry{managed(us, "Apply", "", `{"f:data":{"f:a":{}}}`), managed("edit", "Update", "", `{"f:data":{".":{},"f:b":{}}}`)},
			want:   Loss{manager: "edit", field: ".data.b"},
		},
		"the first of several by name": {
			before: []metav1.ManagedFieldsEntry{managed("y", "Update", "", `{"f:data":{"f:a":{}}}`), managed("x", "Apply", "", `{"f:data":{"f:b":{}}}`)},
			want:   Loss{manager: "x", field: ".data.b"},
		},
		"a removed field has no manager": {
			before: []metav1.ManagedFieldsEntry{managed(us, "Apply", "", `{"f:data":{"f:a":{}}}`), managed("x", "Update", "", `{"f:data":{"f:c":{}}}`)},
			want:   Loss{field: ".data.b"},
		},
		"cleared managed fields have no manager": {want: Loss{field: ".data.a"}},
		"an unreadable entry has no fields":      {before: []metav1.ManagedFieldsEntry{managed("x", "Update", "", `nonsense`)}, want: Loss{field: ".data.a"}},
	} {
		got, lost := lossOf(test.before, after)
		require.Equal(t, !test.none, lost, what)
		require.Equal(t, test.want, got, what)
	}
}

func TestReplicasAreIgnoredOnlyForTheScaleSubresource(t *testing.T) {
	t.Parallel()
	of := func(entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	}
	require.True(t, ScaledByOthers(of(managed("hpa", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`))))
	require.False(t, ScaledByOthers(of(managed("edit", "Update", "", `{"f:spec":{"f:replicas":{}}}`))))
	require.False(t, ScaledByOthers(of(managed("x", "Update", "scale", `{"f:metadata":{}}`))))
	require.False(t, ScaledByOthers(of()))
}

func TestCorrectionsInARowBecomeAConflict(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(start.Add(after)) }
	edit := map[string]Loss{"_ConfigMap_ns_a": {manager: "edit", field: ".data.a"}}
	times := func(all []v1beta2.Correction) int32 {
		require.Len(t, all, 1)
		return all[0].Times
	}
	const id = "_ConfigMap_ns_a"

	first := NextCorrections(nil, edit, at(0))
	require.Equal(t, []v1beta2.Correction{{ID: id, Manager: "edit", Field: ".data.a", Times: 1, LastTime: at(0)}}, first)
	second := NextCorrections(first, edit, at(time.Hour))
	require.EqualValues(t, 2, times(second))
	require.False(t, waitsForRest(second, id, start.Add(time.Hour)))
	require.EqualValues(t, 1, times(NextCorrections(second, map[string]Loss{id: {manager: "other"}}, at(2*time.Hour))), "another manager starts the count again")
	require.EqualValues(t, 1, times(NextCorrections(second, edit, at(26*time.Hour))), "a day later it is no longer in a row")
	require.Equal(t, second, NextCorrections(second, nil, at(2*time.Hour)), "it is remembered for a day")
	require.Empty(t, NextCorrections(second, nil, at(26*time.Hour)))

	third := NextCorrections(second, edit, at(2*time.Hour))
	require.EqualValues(t, 3, times(third))
	require.True(t, waitsForRest(third, id, start.Add(25*time.Hour)), "once a day at most")
	require.False(t, conflictRested(third, start.Add(25*time.Hour)))
	require.False(t, waitsForRest(third, "_ConfigMap_ns_b", start.Add(3*time.Hour)), "only this object")
	require.False(t, waitsForRest(third, id, start.Add(26*time.Hour)))
	require.True(t, conflictRested(third, start.Add(26*time.Hour)))
	require.EqualValues(t, 4, times(NextCorrections(third, edit, at(27*time.Hour))), "the conflict goes on")
	require.Empty(t, NextCorrections(third, nil, at(27*time.Hour)), "it did not come back for a day")
}

func TestTheListOfCorrectionsIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var all []v1beta2.Correction
	for n := range 30 {
		all = NextCorrections(all, map[string]Loss{fmt.Sprintf("_ConfigMap_ns_%02d", n): {manager: "edit"}}, metav1.NewTime(start.Add(time.Duration(n)*time.Minute)))
	}
	require.Len(t, all, 20)
	require.Equal(t, "_ConfigMap_ns_10", all[0].ID, "the latest are kept, by name")
}

func TestAConflictMakesAReadyModuleWarn(t *testing.T) {
	t.Parallel()
	corrections := []v1beta2.Correction{{ID: "_ConfigMap_ns_a", Times: 1}, {ID: "apps_Deployment_ns_b", Manager: "argocd", Field: ".spec.paused", Times: 3}}
	ready := readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: "module is ready", Ready: 2, Total: 2}
	require.Equal(t, readiness.Observed{
		State: "Warning", Reason: "FieldConflict", Ready: 2, Total: 2,
		Message: "argocd keeps changing .spec.paused of Deployment ns/b, which is corrected once a day from now on",
	}, readiness.WithConflicts(ready, corrections))
	require.Equal(t, ready, readiness.WithConflicts(ready, corrections[:1]))
	failed := readiness.Observed{State: shared.StateError}
	require.Equal(t, failed, readiness.WithConflicts(failed, corrections), "an error is reported first")
	require.Contains(t, readiness.DescribeConflict(v1beta2.Correction{ID: "_ConfigMap_ns_a", Field: ".data.a"}), "somebody keeps changing")
}

func fieldsOf(raw string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(raw))
	return f
}
