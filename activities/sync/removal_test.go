package sync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// deletedBench returns a bench with a Kyma that was synchronized and then deleted.
func deletedBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.sync(t)
	require.NoError(t, b.control.Delete(context.Background(), b.kyma(t)))
	b.forget()
	return b
}

func (b *bench) cleanup(t *testing.T) Result {
	t.Helper()
	result, err := b.CleanupRemote(context.Background(), CleanupInput{Ref: b.in.Ref})
	require.NoError(t, err)
	return result
}

func TestCleaningUpLeavesNothingButTheNamespace(t *testing.T) {
	b := deletedBench(t)
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
	require.Equal(t, []string{
		"delete ModuleTemplate keda-regular",
		"delete Kyma default",
		"delete CustomResourceDefinition kymas.operator.kyma-project.io",
		"delete CustomResourceDefinition modulereleasemetas.operator.kyma-project.io",
		"delete CustomResourceDefinition moduletemplates.operator.kyma-project.io",
	}, b.remote.Writes())
	b.forget()
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
	require.Empty(t, b.remote.Writes(), "a second clean-up changes nothing")
}

func TestDefinitionsStayWhileObjectsOfOurKindsExist(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "left", Namespace: "elsewhere"}
	for name, left := range map[string]client.Object{
		"another Kyma":             &v1beta2.Kyma{ObjectMeta: meta},
		"a user-provided template": &v1beta2.ModuleTemplate{ObjectMeta: meta},
		"a release meta":           &v1beta2.ModuleReleaseMeta{ObjectMeta: meta},
		"a Manifest of somebody's": &v1beta2.Manifest{ObjectMeta: meta},
	} {
		t.Run(name, func(t *testing.T) {
			b := deletedBench(t)
			err := b.remote.Create(context.Background(), left)
			require.NoError(t, err)
			require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
			var definitions apiextensionsv1.CustomResourceDefinitionList
			require.NoError(t, b.remote.List(context.Background(), &definitions))
			require.Len(t, definitions.Items, 3)
		})
	}
}

func TestTheRemoteClusterIsCleanedUpOnlyAfterTheManifests(t *testing.T) {
	b := deletedBench(t)
	require.NoError(t, b.control.Create(context.Background(), &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Name: "m", Namespace: desiredtest.Namespace, Labels: map[string]string{shared.LabelKymaName: "kyma-sample"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Kyma", Name: "kyma-sample", UID: "kyma-uid", Controller: new(true)}},
	}}))
	_, err := b.CleanupRemote(context.Background(), CleanupInput{Ref: b.in.Ref})
	require.Equal(t, ReasonManifestsRemaining, fault.Of(err).Reason)
	require.Empty(t, b.remote.Writes())
}

func TestAnotherClusterIsNeitherCleanedUpNorCountedAsClean(t *testing.T) {
	for name, force := range map[string]bool{"orderly": false, "by force": true} {
		t.Run(name, func(t *testing.T) {
			b := deletedBench(t)
			home := b.remote
			b.remote = desiredtest.NewCluster("another")
			_, err := b.CleanupRemote(context.Background(), CleanupInput{Ref: b.in.Ref, Force: force})
			require.Equal(t, fault.Rejected, fault.Of(err).Kind)
			require.Equal(t, "ClusterChanged", fault.Of(err).Reason)
			require.ErrorContains(t, err, "leads to cluster another")
			require.ErrorContains(t, err, "are in cluster remote-uid")
			require.Empty(t, b.remote.Writes())
			b.remote = home
			require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
		})
	}
}

func TestWithoutADeletionNothingIsCleanedUp(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.sync(t)
	b.forget()
	require.Equal(t, OutcomeOff, b.cleanup(t).Outcome)
	b.in.Ref.UID = "other"
	require.Equal(t, OutcomeGone, b.cleanup(t).Outcome)
	require.Empty(t, b.remote.Writes())
}

func TestAKymaThatWasNeverSynchronizedIsDeletedWithoutItsCluster(t *testing.T) {
	kyma := desiredtest.Kyma()
	now := metav1.Now()
	kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma}
	b := newBench(t, kyma, desired.Settings{})
	b.unreachable = fault.New(fault.Unreachable, "X", "nobody there")
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
}

func TestTheRemoteKymaOfAnotherKymaIsNotDeleted(t *testing.T) {
	b := deletedBench(t)
	copied := b.remoteKyma(t)
	copied.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/other"
	other := otherKyma("remote-uid")
	recorded := other.Status
	require.NoError(t, b.control.Create(context.Background(), other))
	other.Status = recorded
	require.NoError(t, b.control.Status().Update(context.Background(), other))
	require.NoError(t, b.remote.Update(context.Background(), copied))
	b.forget()
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
	require.NotContains(t, b.remote.Writes(), "delete Kyma default")
}

func TestOnlyFinalizersOfOthersHoldTheRemoteKyma(t *testing.T) {
	b := deletedBench(t)
	copied := b.remoteKyma(t)
	copied.Finalizers = []string{shared.FinalizerKyma, "example.com/hold"}
	require.NoError(t, b.remote.Update(context.Background(), copied))
	_, err := b.CleanupRemote(context.Background(), CleanupInput{Ref: b.in.Ref})
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
	require.ErrorContains(t, err, "waiting as other finalizers are present: [example.com/hold]")
	require.Equal(t, []string{"example.com/hold"}, b.remoteKyma(t).Finalizers)

	copied = b.remoteKyma(t)
	copied.Finalizers = nil
	require.NoError(t, b.remote.Update(context.Background(), copied))
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
}

func TestCleaningUpInTheControlPlanesOwnClusterDeletesOnlyCopies(t *testing.T) {
	ctx := context.Background()
	on := true
	kyma := desiredtest.Kyma("keda")
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "copies"}
	other := desiredtest.Kyma()
	other.Name, other.UID = "other", "other-uid"
	b := newBench(t, kyma, desired.Settings{AllowControlPlaneModules: true}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), other)
	b.remote = b.control
	definitions, err := crds.Get(crds.Kymas)
	require.NoError(t, err)
	definition := definitions[0].DeepCopy()
	definition.Labels = map[string]string{shared.LabelManagedBy: shared.ManagedByKyma}
	require.NoError(t, b.control.Create(ctx, definition))
	b.sync(t)
	require.NoError(t, b.control.Delete(ctx, b.kyma(t)))
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)

	var kymas v1beta2.KymaList
	require.NoError(t, b.control.List(ctx, &kymas))
	require.Len(t, kymas.Items, 2, "the Kyma itself, which still has its finalizer, and the other")
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, b.control.List(ctx, &templates))
	require.Len(t, templates.Items, 1)
	require.Equal(t, "kcp-system", templates.Items[0].Namespace)
	require.NoError(t, b.control.Get(ctx, types.NamespacedName{Name: definition.Name}, definition))
}

func TestAnAccessSecretForTheControlPlaneIsRefusedUnlessAllowed(t *testing.T) {
	ctx := context.Background()
	on := true
	kyma := desiredtest.Kyma("keda")
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: "copies"}
	b := newBench(t, kyma, desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.remote = b.control
	_, err := b.syncRemote(ctx, b.in)
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Equal(t, clusters.ReasonControlPlaneAccess, fault.Of(err).Reason)
	var kymas v1beta2.KymaList
	require.NoError(t, b.control.List(ctx, &kymas))
	require.Len(t, kymas.Items, 1, "no second Kyma is created")

	b.Settings.Mode = desired.ModeSingleCluster
	b.sync(t)
	require.NoError(t, b.control.List(ctx, &kymas))
	require.Len(t, kymas.Items, 2)
}

func TestAPurgeRemovesUnprotectedFinalizersOfTheRemoteKyma(t *testing.T) {
	b := deletedBench(t)
	b.PurgeRules = purge.Rules{Never: []string{"example.com/never"}}
	copied := b.remoteKyma(t)
	copied.Finalizers = []string{shared.FinalizerKyma, shared.FinalizerPurge, "example.com/hold", "example.com/never"}
	require.NoError(t, b.remote.Update(context.Background(), copied))
	force := CleanupInput{Ref: b.in.Ref, Force: true}
	result, err := b.CleanupRemote(context.Background(), force)
	require.NoError(t, err)
	require.Contains(t, result.Fault.Message, "waiting as other finalizers are present: [example.com/never]")
	require.Equal(t, []string{"Kyma kyma-system/default"}, result.Forced, "forced objects are reported although the clean-up continues")
	require.Equal(t, []string{"example.com/never"}, b.remoteKyma(t).Finalizers)
	_, err = b.CleanupRemote(context.Background(), force)
	require.ErrorContains(t, err, "waiting as other finalizers are present: [example.com/never]")

	b.PurgeRules = purge.Rules{}
	result, err = b.CleanupRemote(context.Background(), force)
	require.NoError(t, err)
	require.True(t, result.Fault.IsZero())
	require.Equal(t, []string{"Kyma kyma-system/default"}, result.Forced)
	var kymas v1beta2.KymaList
	require.NoError(t, b.remote.List(context.Background(), &kymas))
	require.Empty(t, kymas.Items)

	var events corev1.EventList
	require.NoError(t, b.control.List(context.Background(), &events))
	var told []string
	for _, e := range events.Items {
		require.Equal(t, "kyma-sample", e.InvolvedObject.Name)
		told = append(told, e.Reason+": "+e.Message)
	}
	require.Equal(t, []string{"Purged: Kyma kyma-system/default in the remote cluster loses its finalizers example.com/hold"}, told,
		"one Event per object, however many attempts")
}
