package resolve

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestADeletionDeletesEveryManifestAndReturnsTheRest(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	now := metav1.Now()
	kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma}
	held := installed("keda", "1.0.0")
	held.Finalizers = []string{shared.FinalizerManifest}
	skipped := installed("btp", "1.0.0")
	skipped.Labels[shared.LabelSkipReconciliation] = "true"
	mandatory := installed("warden", "1.0.0")
	mandatory.Labels[shared.LabelMandatoryModule] = "true"
	foreign := installed("istio", "1.0.0")
	foreign.OwnerReferences[0].UID = types.UID("earlier")
	b := newBench(t, kyma, desired.Settings{}, held, skipped, mandatory, foreign)

	result, err := b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, DeleteResult{
		Outcome: OutcomeDeleting, Remaining: []string{held.Name}, Manifests: []kick.Ref{{Namespace: held.Namespace, Name: held.Name}},
		Removing: []kick.Ref{{Namespace: held.Namespace, Name: held.Name}},
	}, result)
	var names []string
	for _, manifest := range b.manifests(t) {
		names = append(names, manifest.Name)
	}
	require.ElementsMatch(t, []string{held.Name, foreign.Name}, names)

	b.Cluster.Forget()
	result, err = b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, []string{held.Name}, result.Remaining)
	require.Empty(t, b.Cluster.Writes(), "it is being deleted already")
}

func TestAFailedDeletionOfOneManifestDoesNotStopTheOthers(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	now := metav1.Now()
	kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma}
	refused, held, free := installed("btp", "1.0.0"), installed("keda", "1.0.0"), installed("warden", "1.0.0")
	held.Finalizers = []string{shared.FinalizerManifest}
	settings := desired.Settings{Purge: desired.PurgeSettings{Enabled: true, Grace: time.Hour}}
	b := newBench(t, kyma, settings, refused, held, free)
	b.Cluster.Fail = func(verb, object string) error {
		if verb == "delete" && object == "Manifest "+refused.Name {
			return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("manifests").GroupResource(), refused.Name, errors.New("denied by a policy"))
		}
		return nil
	}
	result, err := b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{refused.Name, held.Name}, result.Remaining, "a Manifest without finalizers that was refused is left too")
	require.Len(t, result.Manifests, 2)
	require.False(t, result.PurgeAt.IsZero())
	require.Equal(t, fault.Transient, result.Fault.Kind)
	require.Equal(t, ReasonManifestsNotDeleted, result.Fault.Reason)
	require.Contains(t, result.Fault.Message, "delete Manifest "+desiredtest.Namespace+"/"+refused.Name)
	require.Contains(t, result.Fault.Message, "denied by a policy")
	for _, m := range b.manifests(t) {
		require.Equal(t, m.Name == refused.Name, m.DeletionTimestamp.IsZero(), m.Name)
	}

	b.Cluster.Fail = nil
	result, err = b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, []string{held.Name}, result.Remaining)
	require.True(t, result.Fault.IsZero())
}

func TestEveryReconcileOfADeletionRecomputesWhenItIsForced(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	deleted := metav1.NewTime(time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC))
	kyma.DeletionTimestamp, kyma.Finalizers = &deleted, []string{shared.FinalizerKyma}
	settings := desired.Settings{Purge: desired.PurgeSettings{Enabled: true, Grace: 24 * time.Hour, Orderly: 10 * time.Minute}}
	b := newBench(t, kyma, settings)
	b.Now = func() time.Time { return deleted.Add(time.Hour) }
	reconcile := func() DeleteResult {
		result, err := b.DeleteManifests(context.Background(), b.in)
		require.NoError(t, err)
		return result
	}
	require.Equal(t, DeleteResult{Outcome: OutcomeDeleting, PurgeAt: deleted.Add(24 * time.Hour), OrderlyFor: 10 * time.Minute}, reconcile())

	live := &v1beta2.Kyma{}
	require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(kyma), live))
	live.Annotations = map[string]string{shared.AnnotationPurgeGracePeriod: "30m"}
	require.NoError(t, b.Cluster.Update(context.Background(), live))
	require.Equal(t, DeleteResult{
		Outcome: OutcomeDeleting, PurgeAt: deleted.Add(30 * time.Minute), PurgeDue: true, OrderlyFor: 10 * time.Minute,
	}, reconcile())
}

func TestWithoutADeletionNoManifestIsDeleted(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, installed("keda", "1.0.0"))
	result, err := b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, DeleteResult{Outcome: OutcomeDone, Alive: true}, result)
	require.Len(t, b.manifests(t), 1)
}

func TestAKymaThatIsGoneOrOfAnotherInstanceCountsAsNotAlive(t *testing.T) {
	other := desiredtest.Kyma("keda")
	other.Labels = map[string]string{shared.LabelManagedBy: "another-instance"}
	left := installed("keda", "1.0.0")
	left.OwnerReferences[0].UID, left.DeletionTimestamp, left.Finalizers = "earlier", new(metav1.Now()), desired.ManifestFinalizers()
	b := newBench(t, other, desired.Settings{}, left)
	result, err := b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, DeleteResult{Outcome: OutcomeNotOurs}, result)
	b.in.Ref.UID = "earlier"
	result, err = b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, DeleteResult{Outcome: OutcomeGone, Removing: []kick.Ref{kick.RefOf(left)}}, result, "its remaining Manifests must still be removed")
}

// access is a fake that returns err, and records the Kymas it was asked for.
type access struct {
	err   error
	asked []string
}

func (a *access) ForKyma(_ context.Context, namespace, kymaName string) (*clusters.Cluster, error) {
	a.asked = append(a.asked, namespace+"/"+kymaName)
	return nil, a.err
}

func TestADeletionListsManifestsThatCannotBeRemovedWithoutAnAccessSecret(t *testing.T) {
	notFound := fault.New(fault.Unreachable, clusters.ReasonAccessSecretNotFound, "access secret not found")
	for name, c := range map[string]struct {
		err error
		// change modifies the only Manifest.
		change func(m *v1beta2.Manifest)
		asked  bool
		want   bool
	}{
		"no Secret exists": {err: notFound, asked: true, want: true},
		"one exists":       {asked: true},
		"two exist":        {err: fault.New(fault.Rejected, clusters.ReasonAccessSecretAmbiguous, "two"), asked: true},
		"the control plane could not be read completely": {err: errors.New("list the access Secrets: timed out"), asked: true},
		"the module is in the control plane": {err: notFound, change: func(m *v1beta2.Manifest) {
			m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
		}},
		"the module needs no Secret": {err: notFound, change: func(m *v1beta2.Manifest) {
			m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterLocalClient}
		}},
		"nothing is left": {err: notFound, change: func(m *v1beta2.Manifest) { m.Finalizers = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			kyma := desiredtest.Kyma("keda")
			now := metav1.Now()
			kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma}
			remote, here := installed("keda", "1.0.0"), installed("btp", "1.0.0")
			remote.Finalizers, here.Finalizers = []string{shared.FinalizerManifest}, []string{shared.FinalizerManifest}
			remote.Spec.Remote = true
			here.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
			if c.change != nil {
				c.change(remote)
			}
			b := newBench(t, kyma, desired.Settings{}, remote, here)
			asked := &access{err: c.err}
			b.Clusters = asked

			result, err := b.DeleteManifests(context.Background(), b.in)
			require.NoError(t, err)
			require.Contains(t, result.Remaining, here.Name)
			if c.want {
				require.Equal(t, clusters.ReasonAccessSecretNotFound, result.Access.Reason)
				require.Equal(t, []kick.Ref{{Namespace: remote.Namespace, Name: remote.Name}}, result.WithoutAccess)
			} else {
				require.True(t, result.Access.IsZero())
				require.Empty(t, result.WithoutAccess)
			}
			if c.asked {
				require.Equal(t, []string{kyma.Namespace + "/" + kyma.Name}, asked.asked)
			} else {
				require.Empty(t, asked.asked, "the control plane gets no needless request")
			}
		})
	}
}
