package watchers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// policies is a PolicySource with a digest that tests set.
type policies struct{ digest string }

func (p *policies) Digest() string { return p.digest }

func named(name string, change func(*v1beta2.Kyma)) *v1beta2.Kyma {
	return kymaWith(func(k *v1beta2.Kyma) {
		k.Name, k.UID = name, types.UID(name)
		k.Status.Modules = []v1beta2.ModuleStatus{{Name: "a"}, {Name: "b", Maintenance: true}}
		if change != nil {
			change(k)
		}
	})
}

func newPolicyWatch(t *testing.T, objects ...client.Object) (*policyWatch, *policies, *recorder, *time.Time) {
	t.Helper()
	w, kicks, _ := newWatcher(t, objects...)
	source, clock := &policies{digest: "first"}, now
	w.Policies, w.Now = source, func() time.Time { return clock }
	return &policyWatch{watcher: w}, source, kicks, &clock
}

func TestAPolicyChangeWakesWaitingKymas(t *testing.T) {
	watch, source, kicks, clock := newPolicyWatch(t, named("waits", nil))
	wakes := func(after time.Duration, want int, why string) {
		t.Helper()
		*clock, kicks.sent = clock.Add(after), nil
		require.NoError(t, watch.check(t.Context()))
		require.Len(t, kicks.sent, want, why)
	}
	wakes(0, 1, "at start, because the policy may have changed while no leader was watching")
	require.Equal(t, "kyma/kcp-system/waits/waits", kicks.sent[0].to)
	require.Equal(t, "maintenance policy changed", kicks.sent[0].kick.Reason)
	require.False(t, kicks.sent[0].kick.Urgent, "it concerns many Kymas, so edits come first")
	require.Nil(t, kicks.sent[0].kick.NotBefore)

	wakes(5*time.Second, 0, "unchanged")
	wakes(2*time.Minute, 1, "a second time, when the policy has reached all workers")
	wakes(time.Hour, 0, "unchanged")
	source.digest = "second"
	wakes(5*time.Second, 1, "changed")
	source.digest = ""
	wakes(5*time.Second, 1, "taken away")
	wakes(115*time.Second, 0, "not all workers have the policy yet")
	wakes(5*time.Second, 1, "once more")
	wakes(time.Hour, 0, "unchanged")
}

// A report made after the policy changed, but before the watch noticed, already shows under the new policy that nothing
// waits.
func TestAPolicyChangeWakesKymasThatAReportShowsAsNoLongerWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		kicks   int
	}{
		"the Manifest has another version": {"1.0.0", 1},
		"the Manifest has the version":     {"1.1.0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			told := named("told", func(k *v1beta2.Kyma) {
				module := v1beta2.ModuleStatus{Name: "b", Version: "1.1.0", State: shared.StateProcessing, Manifest: &v1beta2.TrackedObject{}}
				module.Manifest.Metadata.Namespace, module.Manifest.Metadata.Name = k.Namespace, "told-b"
				k.Status.Modules = []v1beta2.ModuleStatus{module}
			})
			manifest := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: told.Namespace, Name: "told-b"}}
			manifest.Spec.Version = test.version
			watch, _, kicks, _ := newPolicyWatch(t, told, manifest)
			require.NoError(t, watch.check(t.Context()))
			require.Len(t, kicks.sent, test.kicks)
		})
	}
}

func TestOnlyWaitingKymasOfThisInstanceAreWoken(t *testing.T) {
	watch, _, kicks, _ := newPolicyWatch(t,
		named("waits", nil),
		named("nothing-waits", func(k *v1beta2.Kyma) { k.Status.Modules[1].Maintenance = false }),
		named("no-modules", func(k *v1beta2.Kyma) { k.Status.Modules = nil }),
		named("of-another-instance", func(k *v1beta2.Kyma) {
			k.Labels = map[string]string{"operator.kyma-project.io/managed-by": "another"}
		}),
		named("a-synced-copy", func(k *v1beta2.Kyma) {
			k.Annotations = map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
		}),
		named("being-deleted", func(k *v1beta2.Kyma) {
			k.DeletionTimestamp, k.Finalizers = &metav1.Time{Time: now}, []string{"operator.kyma-project.io/Kyma"}
		}),
	)
	require.NoError(t, watch.check(t.Context()))
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "kyma/kcp-system/waits/waits", kicks.sent[0].to)
}

// refuser fails for one Kyma while it is set.
type refuser struct {
	*recorder
	name string
}

func (r *refuser) Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error {
	if ref.Name == r.name {
		return errors.New("no answer")
	}
	return r.recorder.Kyma(ctx, ref, k)
}

func TestAFailedKickIsRetriedAndDelaysNoOtherKyma(t *testing.T) {
	watch, _, kicks, _ := newPolicyWatch(t, named("a", nil), named("b", nil))
	refuses := &refuser{recorder: kicks, name: "a"}
	watch.Kicks = refuses
	require.ErrorContains(t, watch.check(t.Context()), "kick Kyma kcp-system/a: no answer")
	require.Len(t, kicks.sent, 1)

	kicks.sent = nil
	require.ErrorContains(t, watch.check(t.Context()), "kick Kyma kcp-system/a: no answer")
	require.Empty(t, kicks.sent, "a Kyma that was kicked is not kicked again")

	refuses.name = ""
	require.NoError(t, watch.check(t.Context()))
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "kyma/kcp-system/a/a", kicks.sent[0].to)
	require.NoError(t, watch.check(t.Context()))
	require.Len(t, kicks.sent, 1, "the failed kick was repeated")
}

func TestKickingWaitingKymasEndsWithItsContext(t *testing.T) {
	watch, _, kicks, _ := newPolicyWatch(t, named("a", nil), named("b", nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, watch.check(ctx), context.Canceled)
	require.Empty(t, kicks.sent)
}
