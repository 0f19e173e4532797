package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func managed(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, APIVersion: "v1", FieldsV1: fieldsOf(fields),
	}
}

const us = "declarative.kyma-project.io/applier"

func TestTheManagerThatTookAFieldIsFound(t *testing.T) {
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

func TestTheModulesReplicasAreRestoredUnlessAnAutoscalerHasThem(t *testing.T) {
	t.Parallel()
	of := func(entries ...metav1.ManagedFieldsEntry) objects.LiveObject {
		return objects.LiveObject{Meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}}
	}
	scaled := managed("kubectl", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)
	require.True(t, inventory.ScaledByOthers(of(scaled).Meta))
	require.False(t, inventory.ScaledByOthers(of(managed("edit", "Update", "", `{"f:spec":{"f:replicas":{}}}`)).Meta))
	require.False(t, inventory.ScaledByOthers(of(managed("x", "Update", "scale", `{"f:metadata":{}}`)).Meta))
	require.False(t, inventory.ScaledByOthers(of().Meta))

	require.True(t, Scaling{Rendered: true}.restores(of(scaled)))
	require.False(t, Scaling{Rendered: true}.restores(of(scaled, managed(us, "Apply", "", `{"f:spec":{"f:replicas":{}}}`))), "we already own the field")
	require.False(t, Scaling{Rendered: true, Autoscaled: true}.restores(of(scaled)))
	require.False(t, Scaling{}.restores(of(scaled)), "the module names no number")
}

const id = "_ConfigMap_ns_a"

func TestCorrectionsInARowBecomeAConflictThatBacksOffAndEnds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(start.Add(after)) }
	for kind, loss := range map[string]Loss{
		"a field":    {manager: "edit", field: ".data.a"},
		"the object": {},
		"a replaced": {manager: "other"},
		"our labels": {field: ".metadata.labels"},
	} {
		edited := Round{Made: map[string]Loss{id: loss}, Differs: func(string) bool { return true }}
		foreign := Round{Differs: func(string) bool { return true }}
		asItShouldBe := Round{Differs: func(string) bool { return false }}
		times := func(all []v1beta2.Correction) int32 {
			require.Len(t, all, 1, kind)
			return all[0].Times
		}
		gone := loss.isGone()
		waits := func(all []v1beta2.Correction, after time.Duration) bool {
			_, waits := readiness.Waiting(all, id, gone, start.Add(after))
			return waits
		}

		first := NextCorrections(nil, edited, at(0))
		require.Equal(t, []v1beta2.Correction{{ID: id, Manager: loss.manager, Field: loss.field, Times: 1, LastTime: at(0)}}, first, kind)
		second := NextCorrections(first, edited, at(time.Hour))
		require.EqualValues(t, 2, times(second), kind)
		require.False(t, waits(second, time.Hour), kind)
		another := Round{Made: map[string]Loss{id: {manager: "another", field: loss.field}}, Differs: edited.Differs}
		require.EqualValues(t, 1, times(NextCorrections(second, another, at(2*time.Hour))), "another manager starts the count again")
		require.EqualValues(t, 1, times(NextCorrections(second, edited, at(26*time.Hour))), "a day later it is no longer in a row")
		require.Equal(t, second, NextCorrections(second, asItShouldBe, at(2*time.Hour)), "the count is remembered for a day")
		require.Empty(t, NextCorrections(second, asItShouldBe, at(26*time.Hour)), kind)

		third := NextCorrections(second, edited, at(2*time.Hour))
		require.EqualValues(t, 3, times(third), kind)
		require.True(t, waits(third, 2*time.Hour+3*time.Minute), kind)
		_, other := readiness.Waiting(third, id, !gone, start.Add(2*time.Hour))
		require.False(t, other, "an object in conflict about a field that is deleted is created again at once, and the other way round")
		_, other = readiness.Waiting(third, "_ConfigMap_ns_b", gone, start.Add(2*time.Hour))
		require.False(t, other, "only this object")
		require.False(t, waits(third, 2*time.Hour+4*time.Minute), "the object is corrected again minutes later")
		require.Equal(t, third, NextCorrections(third, foreign, at(2*time.Hour+5*time.Minute)), "the conflict lasts as long as the object differs")
		require.False(t, conflictEnds(third, map[string]bool{id: true}, start.Add(3*time.Hour)), kind)

		over := NextCorrections(third, asItShouldBe, at(2*time.Hour+4*time.Minute))
		require.True(t, conflictEnds(third, nil, start.Add(2*time.Hour+4*time.Minute)), kind)
		require.False(t, readiness.IsConflict(over[0]), "the object has stayed unchanged")
		require.False(t, conflictEnds(over, nil, start.Add(3*time.Hour)), "once")
		fourth := NextCorrections(over, edited, at(3*time.Hour))
		require.EqualValues(t, 4, times(fourth), "a manager is remembered for a day")
		require.True(t, readiness.IsConflict(fourth[0]), kind)
		require.True(t, waits(fourth, 3*time.Hour+7*time.Minute), "the waits double")
		require.False(t, waits(fourth, 3*time.Hour+8*time.Minute), kind)

		long := []v1beta2.Correction{{ID: id, Manager: loss.manager, Field: loss.field, Times: 40, LastTime: at(0)}}
		require.True(t, waits(long, 23*time.Hour), kind)
		require.False(t, waits(long, 24*time.Hour), "a day at most")
		require.Equal(t, long, NextCorrections(long, foreign, at(50*time.Hour)), kind)
		require.True(t, NextCorrections(long, asItShouldBe, at(time.Hour))[0].Over, "an hour without a change ends each conflict")
		require.Empty(t, NextCorrections(long, Round{New: true, Differs: foreign.Differs}, at(time.Hour)), "and so do new inputs at once")
	}
}

func TestAnObjectThatAFinalizerHoldsIsRecordedUntilItIsGone(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	none := func(string) bool { return false }
	held := NextCorrections(nil, Round{Differs: none, Held: map[string]string{id: "example.com/hold"}}, now)
	again := NextCorrections(held, Round{Differs: none, Held: map[string]string{id: "example.com/hold"}}, metav1.NewTime(now.Add(time.Hour)))
	require.Equal(t, held, again, "nothing is written while nothing changes")
	o := readiness.WithConflicts(readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady}, held)
	require.Equal(t, shared.StateWarning, o.State)
	require.Equal(t, readiness.ReasonResourcesTerminating, o.Reason)
	require.Equal(t, "ConfigMap ns/a is being deleted and waits for its finalizer example.com/hold: it is created again after that", o.Message)
	require.True(t, readiness.ResourcesReady(o.Reason))
	require.Empty(t, NextCorrections(held, Round{Differs: none}, now))
}

func TestTheListOfCorrectionsIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var all []v1beta2.Correction
	for n := range 30 {
		made := Round{Made: map[string]Loss{fmt.Sprintf("_ConfigMap_ns_%02d", n): {manager: "edit", field: ".data"}}, Differs: func(string) bool { return false }}
		all = NextCorrections(all, made, metav1.NewTime(start.Add(time.Duration(n)*time.Minute)))
	}
	require.Len(t, all, 20)
	require.Equal(t, "_ConfigMap_ns_10", all[0].ID, "the latest corrections are kept, sorted by name")
}

func TestAConflictMakesAReadyModuleWarn(t *testing.T) {
	t.Parallel()
	last := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	corrections := []v1beta2.Correction{
		{ID: id, Field: ".data.a", Times: 1}, {ID: "_ConfigMap_ns_over", Field: ".data.a", Times: 3, Over: true},
		{ID: "apps_Deployment_ns_b", Manager: "argocd", Field: ".spec.paused", Times: 3, LastTime: last},
	}
	ready := readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: "module is ready", Ready: 2, Total: 2}
	const says = "argocd keeps changing .spec.paused of Deployment ns/b: it is corrected again no earlier than 2026-01-01T12:04:00Z"
	require.Equal(t, readiness.Observed{State: "Warning", Reason: "FieldConflict", Ready: 2, Total: 2, Message: says}, readiness.WithConflicts(ready, corrections))
	require.Equal(t, ready, readiness.WithConflicts(ready, corrections[:2]))
	failed := readiness.Observed{State: shared.StateError}
	require.Equal(t, failed, readiness.WithConflicts(failed, corrections), "an error is reported first")
	pending := readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesPending, Message: "waiting"}
	require.Equal(t, "waiting; "+says, readiness.WithConflicts(pending, corrections).Message)
	require.Contains(t, readiness.DescribeConflict(v1beta2.Correction{ID: id, Field: ".data.a"}), "somebody keeps changing")

	deleted := readiness.WithConflicts(ready, []v1beta2.Correction{{ID: id, Times: 4, LastTime: last}})
	require.Equal(t, readiness.ReasonResourcesRecreated, deleted.Reason)
	require.Equal(t, "somebody keeps deleting ConfigMap ns/a: it is created again no earlier than 2026-01-01T12:08:00Z", deleted.Message)
	require.Contains(t, readiness.DescribeConflict(v1beta2.Correction{ID: id, Field: ".metadata.labels"}), "somebody keeps removing our labels from ConfigMap ns/a")
}

func fieldsOf(raw string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(raw))
	return f
}

func TestTheFieldOfACorrectionIsShortened(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	loss, taken := lossOf(
		[]metav1.ManagedFieldsEntry{managed("kubectl", "Update", "", `{"f:spec":{"f:list":{"v:\"`+long+`\"":{}}}}`)},
		[]metav1.ManagedFieldsEntry{managed(shared.FieldManagerModuleResources, "Apply", "", `{"f:spec":{"f:list":{"v:\"`+long+`\"":{}}}}`)})
	require.True(t, taken)
	require.Equal(t, "kubectl", loss.manager)
	require.LessOrEqual(t, len(loss.field), 160)
	require.True(t, strings.HasPrefix(loss.field, `.spec.list[="xxx`), loss.field)
}
