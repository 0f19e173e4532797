package sync

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// explicit returns a Kyma that names its remote namespace.
func explicit(namespace string, modules ...string) *v1beta2.Kyma {
	on := true
	kyma := desiredtest.Kyma(modules...)
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: namespace}
	return kyma
}

func (b *bench) edit(t *testing.T, change func(*v1beta2.Kyma)) {
	t.Helper()
	kyma := b.kyma(t)
	change(kyma)
	require.NoError(t, b.control.Update(context.Background(), kyma))
}

// at returns the remote Kyma in a place, or nil if there is none.
func (b *bench) at(t *testing.T, namespace, name string) *v1beta2.Kyma {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	err := b.remote.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, kyma)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return kyma
}

func moved(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, explicit("first", "keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.sync(t)
	there := b.at(t, "first", "kyma-sample")
	there.Spec.Channel, there.Spec.Modules = "fast", []v1beta2.Module{{Name: "btp"}}
	require.NoError(t, b.remote.Update(context.Background(), there))
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync.Namespace = "second" })
	b.forget()
	return b
}

func requireArrived(t *testing.T, b *bench) {
	t.Helper()
	require.Nil(t, b.at(t, "first", "kyma-sample"))
	there := b.at(t, "second", "kyma-sample")
	require.NotNil(t, there)
	require.Equal(t, "fast", there.Spec.Channel)
	require.Equal(t, []string{"btp"}, names(there.Spec.Modules))
	recorded := b.kyma(t).Status.Remote
	require.Nil(t, recorded.MovingFrom)
	require.Equal(t, "second", recorded.Namespace)
	require.Equal(t, string(there.UID), recorded.UID)
	require.Equal(t, []string{"btp"}, names(recorded.Modules))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, b.remote.List(context.Background(), &templates))
	require.Len(t, templates.Items, 1)
	require.Equal(t, "second", templates.Items[0].Namespace)
}

func TestAMoveToAnotherNamespaceKeepsTheLastAcceptedState(t *testing.T) {
	b := moved(t)
	result := b.sync(t)
	require.True(t, result.Faults[fault.PartMove].IsZero(), "%v", result.Faults[fault.PartMove])
	require.Equal(t, []string{
		"create Namespace second",
		"create Kyma kyma-sample",
		"apply ModuleTemplate keda-regular",
		"delete ModuleTemplate keda-regular",
		"delete Kyma kyma-sample",
	}, b.remote.Writes())
	requireArrived(t, b)
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Name: "first"}, &corev1.Namespace{}), "namespaces stay")
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())
	require.Empty(t, b.control.Writes())
}

func TestAMoveThatIsInterruptedAnywhereIsCompleted(t *testing.T) {
	b := moved(t)
	b.sync(t)
	steps := len(b.remote.Writes()) + len(b.control.Writes())
	require.GreaterOrEqual(t, steps, 8)
	for cut := range steps {
		t.Run(fmt.Sprintf("before write %d", cut+1), func(t *testing.T) {
			b := moved(t)
			writes := 0
			fail := func(verb, _ string) error {
				if verb == "get" || verb == "list" {
					return nil
				}
				writes++
				if writes > cut {
					return apierrors.NewServiceUnavailable("cut off")
				}
				return nil
			}
			b.control.Fail, b.remote.Fail = fail, fail
			result, err := b.syncRemote(context.Background(), b.in)
			if err == nil {
				require.False(t, result.Faults[fault.PartMove].IsZero() && result.Faults[fault.PartCatalog].IsZero() && result.Faults[fault.PartPullSecret].IsZero(), "something failed")
			}
			b.control.Fail, b.remote.Fail = nil, nil
			wanted := b.kyma(t).Status.Remote
			require.True(t, desired.IsAccepted(b.kyma(t)), "the last accepted state stays known: %v", wanted)
			b.assemble(t, desired.Settings{}, "1.0.0")
			b.sync(t)
			requireArrived(t, b)
		})
	}
}

func TestAMoveIsRefusedIfTheNewPlaceIsTaken(t *testing.T) {
	b := moved(t)
	other, recorded := otherKyma("remote-uid"), otherKyma("remote-uid").Status
	require.NoError(t, b.control.Create(context.Background(), other))
	other.Status = recorded
	require.NoError(t, b.control.Status().Update(context.Background(), other))
	taken := desiredtest.Kyma("istio")
	taken.Namespace, taken.Annotations = "second", map[string]string{desired.AnnotationSyncedFrom: "kcp-system/other"}
	require.NoError(t, b.remote.Create(context.Background(), taken))
	result := b.sync(t)
	require.Equal(t, ReasonRemoteKymaOwned, result.Faults[fault.PartMove].Reason)
	require.Equal(t, fault.Rejected, result.Faults[fault.PartMove].Kind)
	require.NotNil(t, b.at(t, "first", "kyma-sample"), "the remote Kyma stays where it is")
	require.Equal(t, "first", b.kyma(t).Status.Remote.Namespace)
	require.Equal(t, []string{"btp"}, names(b.kyma(t).Status.Remote.Modules), "the remote Kyma is still accepted there")
	require.Equal(t, []string{"istio"}, names(b.at(t, "second", "kyma-sample").Spec.Modules))
}

func TestAKymaInTheNewPlaceGetsTheLastAcceptedState(t *testing.T) {
	b := moved(t)
	before := desiredtest.Kyma("istio")
	before.Namespace, before.Labels, before.Annotations = "second", nil, nil
	require.NoError(t, b.remote.Create(context.Background(), before))
	b.sync(t)
	requireArrived(t, b)
}

func TestAHeldOldRemoteKymaKeepsTheMoveOpenAndEditsAreAccepted(t *testing.T) {
	ctx := context.Background()
	b := moved(t)
	held := b.at(t, "first", "kyma-sample")
	held.Finalizers = []string{"example.com/theirs"}
	require.NoError(t, b.remote.Update(ctx, held))
	result := b.sync(t)
	require.Equal(t, ReasonRemoteKymaDeleting, result.Faults[fault.PartMove].Reason)
	require.Contains(t, result.Faults[fault.PartMove].Message, "first/kyma-sample")
	require.Equal(t, "first", b.kyma(t).Status.Remote.MovingFrom.Namespace)

	there := b.at(t, "second", "kyma-sample")
	there.Spec.Modules = []v1beta2.Module{{Name: "btp"}, {Name: "istio"}}
	require.NoError(t, b.remote.Update(ctx, there))
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync.Namespace = "third" })
	require.True(t, b.sync(t).AcceptedChange, "edits of the new remote Kyma are accepted")
	require.Equal(t, "second", b.kyma(t).Status.Remote.Namespace, "one move at a time")

	held = b.at(t, "first", "kyma-sample")
	held.Finalizers = nil
	require.NoError(t, b.remote.Update(ctx, held))
	b.sync(t)
	require.Nil(t, b.kyma(t).Status.Remote.MovingFrom)
	b.sync(t)
	require.Equal(t, "third", b.kyma(t).Status.Remote.Namespace)
	require.Equal(t, []string{"btp", "istio"}, names(b.at(t, "third", "kyma-sample").Spec.Modules))
	require.Nil(t, b.at(t, "second", "kyma-sample"))
}

func TestAKymaDeletedInTheMiddleOfAMoveIsCleanedUpInBothPlaces(t *testing.T) {
	ctx := context.Background()
	b := moved(t)
	b.remote.Fail = func(verb, object string) error {
		if verb == "delete" {
			return errors.New("cut off")
		}
		return nil
	}
	b.sync(t)
	require.NotNil(t, b.kyma(t).Status.Remote.MovingFrom)
	b.remote.Fail = nil
	require.NoError(t, b.control.Delete(ctx, b.kyma(t)))
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
	for _, list := range []client.ObjectList{&v1beta2.KymaList{}, &v1beta2.ModuleTemplateList{}} {
		require.NoError(t, b.remote.List(ctx, list))
	}
	require.Nil(t, b.at(t, "first", "kyma-sample"))
	require.Nil(t, b.at(t, "second", "kyma-sample"))
}

func TestChangingTheRulesLosesNoModule(t *testing.T) {
	t.Run("without spec.sync the remote Kyma alone decides, and has what both asked for", func(t *testing.T) {
		b := newBench(t, explicit("first", "keda"), desired.Settings{})
		b.sync(t)
		there := b.at(t, "first", "kyma-sample")
		there.Spec.Modules = []v1beta2.Module{{Name: "btp"}}
		require.NoError(t, b.remote.Update(context.Background(), there))
		b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync = nil })
		b.sync(t)
		require.Equal(t, []string{"keda", "btp"}, names(b.remoteKyma(t).Spec.Modules))
		kyma := b.kyma(t)
		require.Equal(t, v1beta2.SyncGenerationDefault, kyma.Status.Remote.Generation)
		wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, desired.Settings{}))
		require.Equal(t, []string{"keda", "btp"}, names(wanted.Modules))
		require.Nil(t, b.at(t, "first", "kyma-sample"))
	})
	t.Run("with spec.sync set to the same place, only the rules change", func(t *testing.T) {
		kyma := desiredtest.Kyma("keda")
		kyma.Name = "default"
		b := newBench(t, kyma, desired.Settings{})
		b.sync(t)
		uid := b.remoteKyma(t).UID
		b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync = explicit("kyma-system").Spec.Sync })
		b.forget()
		b.sync(t)
		require.Empty(t, b.remote.Writes())
		recorded := b.kyma(t).Status.Remote
		require.Equal(t, v1beta2.SyncGenerationExplicit, recorded.Generation)
		require.Nil(t, recorded.MovingFrom)
		require.Equal(t, uid, b.remoteKyma(t).UID)

		b.edit(t, func(k *v1beta2.Kyma) {
			k.Spec.Sync, k.Spec.Modules = nil, append(k.Spec.Modules, v1beta2.Module{Name: "istio"})
		})
		b.sync(t)
		require.Equal(t, []string{"keda", "istio"}, names(b.remoteKyma(t).Spec.Modules), "nobody asked to remove istio")
		require.Equal(t, uid, b.remoteKyma(t).UID)
	})
	t.Run("changed flags move it too", func(t *testing.T) {
		b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
		b.sync(t)
		b.assemble(t, desired.Settings{SyncNamespace: "other-system", RemoteKymaName: "cluster"}, "1.0.0")
		b.sync(t)
		require.NotNil(t, b.at(t, "other-system", "cluster"))
		require.Nil(t, b.at(t, "kyma-system", "default"))
	})
}

func TestAMoveOntoTheKymaItselfIsRefused(t *testing.T) {
	b := newBench(t, explicit("copies", "keda"), desired.Settings{AllowControlPlaneModules: true})
	b.remote = b.control
	b.sync(t)
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync.Namespace = "kcp-system" })
	result := b.sync(t)
	require.Equal(t, ReasonOntoItself, result.Faults[fault.PartMove].Reason)
	require.NotNil(t, b.at(t, "copies", "kyma-sample"))
	kyma := b.kyma(t)
	require.False(t, desired.IsSyncedCopy(kyma))
	require.Contains(t, kyma.Finalizers, shared.FinalizerKyma)
}
