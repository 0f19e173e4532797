package lifecycle

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// recordCluster records that the Kyma is synchronized to a cluster.
func (s *environment) recordCluster(uid types.UID) {
	s.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(s, s.control.Get(context.Background(), types.NamespacedName{Namespace: s.id, Name: "kyma"}, kyma))
	kyma.Status.Remote = &v1beta2.RemoteStatus{Name: "kyma", Namespace: s.id, Generation: "Explicit", Cluster: string(uid)}
	require.NoError(s, s.control.Status().Update(context.Background(), kyma))
}

// setAccess writes another kubeconfig into the access Secret.
func (s *environment) setAccess(kubeconfig []byte) {
	s.Helper()
	ctx, secret := context.Background(), &corev1.Secret{}
	require.NoError(s, s.control.Get(ctx, types.NamespacedName{Namespace: s.id, Name: "access"}, secret))
	secret.Data[shared.AccessSecretKey] = kubeconfig
	require.NoError(s, s.control.Update(ctx, secret))
}

// repoint makes the access Secret lead to another cluster, and returns that one.
func (s *environment) repoint() client.Client {
	s.Helper()
	path := testfleet.Require(s.T, "LM_TEST_CONTROL_PLANE")
	kubeconfig, err := os.ReadFile(path)
	require.NoError(s, err)
	s.setAccess(kubeconfig)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(s, err)
	other, err := client.New(config, client.Options{Scheme: scheme(s.T)})
	require.NoError(s, err)
	return other
}

func uidOf(t *testing.T, c client.Client) types.UID {
	t.Helper()
	uid, err := clusters.UIDOf(context.Background(), c)
	require.NoError(t, err)
	return uid
}

func TestAModuleIsNeverWrittenIntoAnotherClusterThanTheOneItWasDecidedFor(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	ctx := context.Background()
	home := uidOf(t, s.remote)
	s.recordCluster(home)
	s.installReady()

	other := s.repoint()
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id + "-remote"}}
	require.NoError(t, other.Create(ctx, foreign))
	t.Cleanup(func() { _ = other.Delete(ctx, foreign) })
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: foreign.Name, Annotations: map[string]string{shared.AnnotationOwnedBy: "b/b-sample"}},
		Data:       map[string]string{"of": "another Kyma"},
	}
	require.NoError(t, other.Create(ctx, settings))
	untouched := func() {
		t.Helper()
		require.Empty(t, writes(s.requests.take()))
		now := &corev1.ConfigMap{}
		require.NoError(t, other.Get(ctx, client.ObjectKeyFromObject(settings), now))
		require.Equal(t, settings.ResourceVersion, now.ResourceVersion)
	}

	refused := func(err error) {
		t.Helper()
		require.Error(t, err)
		f := fault.Of(err)
		require.Equal(t, fault.Rejected, f.Kind)
		require.Equal(t, "ClusterChanged", f.Reason)
		require.Contains(t, f.Message, string(home))
		require.Contains(t, f.Message, string(uidOf(t, other)))
		untouched()
	}
	_, err := s.activities.Install.ApplyManifest(ctx, install.ApplyInput{Ref: s.ref()})
	refused(err)
	_, err = s.news(readiness.Observed{})
	refused(err)
	_, err = s.activities.Drift.Probe(ctx, []*v1beta2.Manifest{s.cached()}, 0)
	require.ErrorContains(t, err, "leads to cluster")
	untouched()

	// Once the new cluster is recorded, the module is installed there.
	require.NoError(t, other.Delete(ctx, settings))
	s.recordCluster(uidOf(t, other))
	s.activities.Steps.Options.Settings.AllowControlPlaneModules = true // of which it is the cluster
	require.NotEqual(t, manifests.OutcomeGone, s.apply().Outcome)
	require.NotEmpty(t, writes(s.requests.take()))
	t.Cleanup(func() {
		for _, object := range []string{"CustomResourceDefinition samples." + s.id + ".example.com", "ClusterRole " + s.id + "-operator", "ClusterRoleBinding " + s.id + "-operator"} {
			kind, name, _ := strings.Cut(object, " ")
			group := "rbac.authorization.k8s.io"
			if kind == "CustomResourceDefinition" {
				group = "apiextensions.k8s.io"
			}
			gone := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
			gone.APIVersion, gone.Kind = group+"/v1", kind
			_ = other.Delete(ctx, gone)
		}
	})
}

func TestARemovalNeverMistakesAnotherClusterForACleanOne(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	ctx := context.Background()
	s.recordCluster(uidOf(t, s.remote))
	s.installReady()
	inventory := s.read().Status.Inventory
	s.repoint()
	// Both the Kyma and its record stay for as long as the Manifest does.
	s.holdKyma()
	s.deleteKyma()

	changed := func(err error) {
		t.Helper()
		require.Error(t, err)
		require.Equal(t, "ClusterChanged", fault.Of(err).Reason)
		require.Empty(t, writes(s.requests.take()))
		require.Equal(t, inventory, s.read().Status.Inventory)
		require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	}
	_, err := s.activities.Uninstall.RemoveManifest(ctx, uninstall.RemoveInput{Ref: s.ref()})
	changed(err)
	_, err = s.activities.Uninstall.WaitRemoval(ctx, uninstall.RemoveInput{Ref: s.ref()})
	changed(err)
	_, err = s.activities.Purge.PurgeManifest(ctx, purge.Input{Ref: s.ref()})
	changed(err)

	result := s.purge(true)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	require.Contains(t, result.Unreached, "leads to cluster")
	require.True(t, s.manifestIsGone())
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"), "it stays there")
	require.Empty(t, writes(s.requests.take()))
	events := s.events()
	require.Len(t, events, 1)
	require.Contains(t, events[0], "PurgeAbandoned: ")
	require.Contains(t, events[0], "leads to cluster")
}

func TestAManifestWithoutAnInventoryWaitsForItsOwnCluster(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.recordCluster(uidOf(t, s.remote))
	s.installReady()
	s.forget()
	s.repoint()
	s.holdKyma()
	s.deleteKyma()
	_, err := s.activities.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: s.ref()})
	require.Equal(t, "ClusterChanged", fault.Of(err).Reason)
	require.False(t, s.manifestIsGone())
}

// holdKyma gives the Kyma our finalizer, as every reconciled Kyma has it.
func (s *environment) holdKyma() {
	s.Helper()
	ctx := context.Background()
	kyma := &v1beta2.Kyma{}
	require.NoError(s, s.control.Get(ctx, types.NamespacedName{Namespace: s.id, Name: "kyma"}, kyma))
	kyma.Finalizers = []string{shared.FinalizerKyma}
	require.NoError(s, s.control.Update(ctx, kyma))
	s.Cleanup(func() {
		if s.control.Get(ctx, client.ObjectKeyFromObject(kyma), kyma) == nil {
			kyma.Finalizers = nil
			_ = s.control.Update(ctx, kyma)
		}
	})
}

func TestAnAccessSecretThatLeadsToTheControlPlaneInstallsNothingThere(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.repoint()
	_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: s.ref()})
	require.Error(t, err)
	f := fault.Of(err)
	require.Equal(t, fault.Rejected, f.Kind)
	require.Equal(t, "ControlPlaneAccess", f.Reason)
	require.Contains(t, f.Message, "leads to the control plane itself")
	require.Empty(t, writes(s.requests.take()))

	s.activities.Steps.Options.Settings.AllowControlPlaneModules = true
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	t.Cleanup(func() {
		_ = s.control.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id + "-remote"}})
	})
	require.NotEmpty(t, writes(s.requests.take()))
}

func TestAManifestThatNobodyOwnsIsNotInstalledOnRealClusters(t *testing.T) {
	s := newEnvironment(t, moduleYAML, func(m *v1beta2.Manifest) { m.OwnerReferences, m.Spec.Remote = nil, false })
	result := s.apply()
	require.Equal(t, manifests.OutcomeRefused, result.Outcome)
	s.report(result.Observed, true)
	require.Equal(t, metav1.ConditionFalse, s.condition(shared.ConditionInstallation))
	require.True(t, manifests.IsRefused(s.read()))
	require.Empty(t, s.requests.take(), "its cluster is not even asked")
	require.Empty(t, s.read().Finalizers)
}
