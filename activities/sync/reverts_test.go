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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/modules/pullsecret"
)

// heard records Events.
type heard []string

func (h *heard) Event(_ runtime.Object, eventType, reason, message string) {
	*h = append(*h, eventType+" "+reason+": "+message)
}

func (h *heard) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	h.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func TestAChangeThatAClusterUndoesEachTimeIsWrittenOnceADay(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	now, told := time.Now(), &heard{}
	b.reverts = newReverts(told, func() time.Time { return now })
	b.sync(t)
	pass := func() string {
		now = now.Add(5 * time.Minute)
		changed, why, err := b.Probe(ctx, b.kyma(t), false)
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
	for range revertLimit {
		strip()
		require.Equal(t, "labels of the remote Kyma were changed", pass())
		require.NotEmpty(t, b.remoteKyma(t).Labels, "its drift is corrected")
	}
	require.Empty(t, *told)
	strip()
	for range 3 {
		require.Empty(t, pass())
	}
	require.Len(t, *told, 1, "one Event is recorded")
	require.True(t, strings.HasPrefix((*told)[0], "Warning RemoteChangesUndone: the remote cluster keeps undoing our changes: labels of the remote Kyma were changed"), (*told)[0])

	b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	require.Equal(t, "remote Kyma was edited", pass(), "an edit by the owner is always accepted")

	strip()
	require.Empty(t, pass())
	now = now.Add(revertPause)
	require.Equal(t, "labels of the remote Kyma were changed", pass(), "the drift is corrected once a day")
	strip()
	require.Empty(t, pass())
	require.Len(t, *told, 2)
}

func TestAnImagePullSecretThatAClusterUndoesEachTimeIsWrittenOnceADay(t *testing.T) {
	ctx := context.Background()
	for name, disturb := range map[string]struct {
		undo func(*testing.T, *bench)
		told string
	}{
		"one that is deleted": {
			func(t *testing.T, b *bench) { require.NoError(t, b.remote.Delete(ctx, b.copyOf(t, "pull"))) },
			"image pull Secret of the remote cluster differs (kyma-system/pull), which somebody deletes; the cluster's audit log says who;",
		},
		"one that is edited": {
			func(t *testing.T, b *bench) {
				secret := b.copyOf(t, "pull")
				secret.Data["more"] = []byte("x")
				require.NoError(t, b.remote.Update(ctx, secret, client.FieldOwner("rotator")))
			},
			"image pull Secret of the remote cluster differs (kyma-system/pull), by rotator;",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := pulling(t, desiredtest.Kyma("keda"))
			now, told := time.Now(), &heard{}
			b.reverts = newReverts(told, func() time.Time { return now })
			b.sync(t)
			remote := b.remoteKyma(t)
			remote.Status = desired.RemoteStatus(b.kyma(t))
			require.NoError(t, b.remote.Status().Update(ctx, remote))
			pass := func(awaited bool) bool {
				now = now.Add(5 * time.Minute)
				changed, why, err := b.Probe(ctx, b.kyma(t), awaited)
				require.NoError(t, err)
				require.Equal(t, changed, why == PullSecretDiffers, why)
				return changed
			}
			for range 2 * revertLimit {
				require.False(t, pass(false))
			}
			disturb.undo(t, b)
			for range 2 * revertLimit {
				require.True(t, pass(true), "content that a paced change has yet to bring was not undone")
			}
			for range revertLimit {
				require.True(t, pass(false))
				b.sync(t)
				disturb.undo(t, b)
			}
			for range 3 {
				require.False(t, pass(false))
			}
			require.Len(t, *told, 1)
			require.Contains(t, (*told)[0], disturb.told)
			require.NotContains(t, (*told)[0], pullsecret.Digest(pullSecret(planted)))

			now = now.Add(revertPause)
			require.True(t, pass(false), "once a day")

			source := pullSecret("{}")
			require.NoError(t, b.control.Delete(ctx, pullSecret("")))
			require.NoError(t, b.control.Create(ctx, source))
			kept := b.reverts
			b.configure(t, "pull") // the new process has not read the original yet
			b.reverts = kept
			for range revertLimit {
				require.True(t, pass(false), "a rotated Secret is written")
			}
		})
	}
}

func TestAnOccasionalChangeIsCorrectedEachTime(t *testing.T) {
	told := &heard{}
	u := newReverts(told, time.Now)
	kyma := desiredtest.Kyma("keda")
	for range 2 * revertLimit {
		require.True(t, u.isWorthSync(kyma, CatalogDiffers, nil, "", "wanted"))
		u.reset(kyma, CatalogDiffers)
	}
	for n := range revertLimit + 1 {
		require.Equal(t, n < revertLimit, u.isWorthSync(kyma, CatalogDiffers, nil, "", "wanted"), "in a row")
	}
	require.Len(t, *told, 1)
	require.True(t, u.isWorthSync(kyma, CatalogDiffers, nil, "", "something else"), "another digest starts a new count")
}

func TestTheManagedFieldsShowWhoUndidAChange(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	ours := metav1.ManagedFieldsEntry{Manager: "catalog-sync", Time: at(5)}
	require.Empty(t, lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(4)}}, ""), "kubectl wrote before us")
	require.Empty(t, lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(6), Subresource: "status"}}, ""))
	require.Equal(t, "policy", lastOther([]metav1.ManagedFieldsEntry{ours, {Manager: "kubectl", Time: at(5)}, {Manager: "policy", Time: at(6)}}, ""))
}
