package sync

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// heard are the Events that people were told of.
type heard []string

func (h *heard) Event(_ runtime.Object, eventType, reason, message string) {
	*h = append(*h, eventType+" "+reason+": "+message)
}

func (h *heard) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	h.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func TestWhatAClusterUndoesEachTimeIsWrittenAnewOnceADayOnly(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	now, told := time.Now(), &heard{}
	var err error
	b.undone, err = newUndone(told, func() time.Time { return now })
	require.NoError(t, err)
	b.sync(t)
	pass := func() string {
		now = now.Add(5 * time.Minute)
		changed, why, err := b.Probe(ctx, b.kyma(t))
		require.NoError(t, err)
		if !changed {
			return ""
		}
		b.sync(t)
		return why
	}
	push := func() {
		remote := b.remoteKyma(t)
		remote.Status = desired.RemoteStatus(b.kyma(t))
		require.NoError(t, b.remote.Status().Update(ctx, remote))
	}
	push()
	require.Empty(t, pass())
	strip := func() {
		b.editRemote(t, func(k *v1beta2.Kyma) { k.Labels = nil })
		push()
	}
	for range undoneTimes {
		strip()
		require.Equal(t, "labels of the remote Kyma were changed", pass())
		require.NotEmpty(t, b.remoteKyma(t).Labels, "it is put right")
	}
	require.Empty(t, *told)
	strip()
	for range 3 {
		require.Empty(t, pass())
	}
	require.Len(t, *told, 1, "it is told once")
	require.True(t, strings.HasPrefix((*told)[0], "Warning RemoteChangesUndone: the remote cluster undoes each time what is written there: labels of the remote Kyma were changed"), (*told)[0])

	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	require.Equal(t, "remote Kyma was edited", pass(), "what its owner wants is always taken in")

	strip()
	require.Empty(t, pass())
	now = now.Add(undoneRest)
	require.Equal(t, "labels of the remote Kyma were changed", pass(), "once a day it is put right")
	strip()
	require.Empty(t, pass())
	require.Len(t, *told, 2)
}

func TestWhatSomebodyChangesNowAndThenIsPutRightEachTime(t *testing.T) {
	told := &heard{}
	u, err := newUndone(told, time.Now)
	require.NoError(t, err)
	kyma := desiredtest.Kyma("keda")
	for range 2 * undoneTimes {
		require.True(t, u.worth(kyma, CatalogDiffers, nil, "", "wanted"))
		u.right(kyma, CatalogDiffers)
	}
	for n := range undoneTimes + 1 {
		require.Equal(t, n < undoneTimes, u.worth(kyma, CatalogDiffers, nil, "", "wanted"), "in a row")
	}
	require.Len(t, *told, 1)
	require.True(t, u.worth(kyma, CatalogDiffers, nil, "", "something else"), "which begins anew")
}

func TestWhoUndidSomethingIsSeenInTheManagedFields(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	ours := metav1.ManagedFieldsEntry{Manager: "catalog-sync", Time: at(5)}
	require.Empty(t, lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(4)}}, ""), "it wrote before us")
	require.Empty(t, lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(6), Subresource: "status"}}, ""))
	require.Equal(t, "policy", lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(5)}, {Manager: "policy", Time: at(6)}}, ""))
}
