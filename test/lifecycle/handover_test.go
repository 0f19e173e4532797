package lifecycle

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// otherKyma creates a second Kyma that is synchronized to the same cluster, and its Manifest.
func (s *environment) otherKyma(spec v1beta2.ManifestSpec) *v1beta2.Manifest {
	s.Helper()
	ctx := context.Background()
	var system corev1.Namespace
	require.NoError(s, s.remote.Get(ctx, client.ObjectKey{Name: "kube-system"}, &system))
	kubeconfig, err := os.ReadFile(testfleet.Require(s.T, "LM_TEST_REMOTE"))
	require.NoError(s, err)
	s.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access-of-other", Namespace: s.id, Labels: map[string]string{shared.LabelKymaName: "other"}},
		Data:       map[string][]byte{shared.AccessSecretKey: kubeconfig},
	})
	other := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "other"}}
	s.create(other)
	other.Status.Remote = &v1beta2.RemoteStatus{Name: "other", Namespace: "other", Generation: "Explicit", Cluster: string(system.UID)}
	require.NoError(s, s.control.Status().Update(ctx, other))
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.id, Name: "other-module", Labels: map[string]string{shared.LabelKymaName: "other", shared.LabelModuleName: "sample"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(other, v1beta2.GroupVersion.WithKind("Kyma"))},
	}, Spec: *spec.DeepCopy()}
	s.create(m)
	s.Cleanup(func() {
		now := &v1beta2.Manifest{}
		if err := s.control.Get(ctx, client.ObjectKeyFromObject(m), now); err == nil {
			now.Finalizers = nil
			_ = s.control.Update(ctx, now)
		}
	})
	return m
}

// as runs do with another Manifest.
func (s *environment) as(m *v1beta2.Manifest, do func()) {
	s.Helper()
	own := s.manifest
	s.manifest = m
	defer func() { s.manifest = own }()
	do()
}

// removed removes the module, as its workflow does: in between it checks what it waits for.
func (s *environment) removed() {
	s.Helper()
	var result uninstall.RemoveResult
	require.Eventually(s, func() bool {
		result = s.remove(result.Observed)
		if result.Outcome != manifests.OutcomeWaiting {
			return true
		}
		checked, err := s.activities.Uninstall.CheckRemoval(context.Background(), s.ref())
		require.NoError(s, err)
		require.Contains(s, []manifests.Outcome{manifests.OutcomeWaiting, manifests.OutcomeRemoved, manifests.OutcomeGone}, checked.Outcome)
		return false
	}, 2*time.Minute, 100*time.Millisecond, "%+v", result)
	require.Equal(s, manifests.OutcomeRemoved, result.Outcome)
}

func TestARemovalHandsOverWhatAnotherKymaInTheSameClusterUses(t *testing.T) {
	const extra = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: ID-remote}
`
	const definition, definitionName = "CustomResourceDefinition", "samples.ID.example.com"
	for name, change := range map[string]func(*v1beta2.Manifest){
		"without a default custom resource": nil,
		"with a default custom resource":    withDefaultCR,
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnvironment(t, moduleYAML+extra, change)
			ctx := context.Background()
			spec := *s.manifest.Spec.DeepCopy()
			spec.Install.Source = s.layer(moduleYAML)
			other := s.otherKyma(spec)
			s.as(other, s.installReady)
			s.installReady()
			require.NoError(t, s.remote.Create(ctx, s.sample("of-another")))
			mark := func(kind, namespace, name string) string {
				apiVersion := map[string]string{definition: "apiextensions.k8s.io/v1", "Deployment": "apps/v1", "ConfigMap": "v1"}[kind]
				live := s.get(apiVersion, kind, namespace, name)
				require.NotNil(t, live, "%s %s is there", kind, name)
				require.True(t, live.GetDeletionTimestamp().IsZero(), "%s %s stays", kind, name)
				return live.GetAnnotations()[shared.AnnotationOwnedBy]
			}
			require.Equal(t, inventory.MarkOf(s.manifest), mark(definition, "", definitionName), "the last one has the mark")

			s.delete()
			s.removed()
			require.True(t, s.manifestIsGone())
			require.Equal(t, inventory.MarkOf(other), mark(definition, "", definitionName))
			require.Equal(t, inventory.MarkOf(other), mark("Deployment", "ID-remote", "operator"))
			require.Equal(t, inventory.MarkOf(other), mark("ConfigMap", "ID-remote", "settings"))
			require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "extra"), "what only this module has is removed")
			require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "of-another"), "with its custom resources")
			if change != nil {
				require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"), "the other one has adopted it")
			}
			s.as(other, func() {
				require.Empty(t, s.read().Status.Corrections)
				drifted, _ := s.differs()
				require.Empty(t, drifted, "what was handed over is as the remaining one applies it")
				hashes := map[string]string{}
				for _, e := range s.read().Status.Inventory {
					hashes[e.ID] = e.Hash
				}
				s.apply()
				for _, e := range s.read().Status.Inventory {
					require.Equal(t, hashes[e.ID], e.Hash, "its next reconcile has nothing to correct: %s", e.ID)
				}
			})
			said, corrected := s.recorded.take()
			require.Zero(t, corrected, "there is no conflict with itself: %v", said)
			require.Contains(t, strings.Join(said, "\n"), "Normal *v1beta2.Kyma LeftToOtherKymas: ")
			require.Contains(t, strings.Join(said, "\n"), "is used by Kyma "+s.id+"/other")

			require.NoError(t, s.remote.Delete(ctx, s.sample("of-another")))
			s.as(other, func() {
				s.delete()
				s.removed()
			})
			require.Nil(t, s.get("apiextensions.k8s.io/v1", definition, "", definitionName), "the last one removes it")
			require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
		})
	}
}

func TestAClusterThatPretendsToBeAnotherKeepsNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	other := s.otherKyma(s.manifest.Spec)
	s.as(other, s.installReady)
	s.installReady()
	// The other one's access leads elsewhere, and its remote Kyma does not exist in this cluster.
	access := &corev1.Secret{}
	require.NoError(t, s.control.Get(context.Background(), client.ObjectKey{Namespace: s.id, Name: "access-of-other"}, access))
	elsewhere, err := os.ReadFile(testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	access.Data[shared.AccessSecretKey] = elsewhere
	require.NoError(t, s.control.Update(context.Background(), access))

	s.delete()
	s.removed()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	said, _ := s.recorded.take()
	require.NotContains(t, strings.Join(said, "\n"), "LeftToOtherKymas")
}

func TestAModuleThatNobodyElseHasIsRemovedAlthoughAnotherKymaIsInTheSameCluster(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	other := s.otherKyma(s.manifest.Spec)
	require.Empty(t, other.Status.Inventory)
	s.delete()
	s.removed()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
	said, _ := s.recorded.take()
	require.Empty(t, said)
}
