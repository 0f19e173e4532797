package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// What operators' scripts do with Manifests means modules: they wait until a Kyma has none, and stop or start the reconciles
// of all mandatory ones. None of it concerns the agent, and the Manifest goes that earlier builds made for it.
//
// The agent of an instance that uses FIPS allows nothing else, and reports as before: its certificates, its webhook and the
// listener are all approved.
func TestAnAgentIsNoManifestAndStrictWhereItsInstanceUsesFIPS(t *testing.T) {
	w := newWatchedAfter(t, func(w *watched) {
		w.Instance.Variables = append(w.Instance.Variables, "GODEBUG=fips140=on")
		w.workers.Variables = append(w.workers.Variables, "GODEBUG=fips140=on")
	})
	deployment := func() *appsv1.Deployment {
		t.Helper()
		found := &appsv1.Deployment{}
		require.NoError(t, w.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: shared.AgentName}, found))
		return found
	}
	t.Run("where its instance uses FIPS it allows nothing else, and reports", func(t *testing.T) {
		require.Equal(t, "1", process.Metric(t, w.metrics, "lifecycle_mgr_fips_mode"))
		require.Contains(t, deployment().Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "GODEBUG", Value: "fips140=only,tlsmlkem=0"})
		require.Equal(t, "2", w.agent.Metric("watcher_fips_mode"))
		w.becomesActedOn("sample")
	})
	kyma := w.Kyma("watched")
	agent := &v1beta2.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: shared.RemoteAgentName(kyma.Name)}}
	read := func() *v1beta2.RemoteAgent {
		t.Helper()
		require.NoError(t, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
		return agent
	}
	before := deployment()
	require.Equal(t, shared.StateReady, read().Status.State)
	require.NotEmpty(t, agent.Status.Inventory)

	t.Run("the Manifests of a Kyma are those of its modules", func(t *testing.T) {
		all := w.Manifests(kyma)
		require.Len(t, all, 1)
		require.Equal(t, "sample", all[0].Labels[shared.LabelModuleName])
		var mandatory v1beta2.ManifestList
		require.NoError(t, w.ControlPlane.List(t.Context(), &mandatory, client.MatchingLabels{shared.LabelMandatoryModule: shared.ValueTrue}))
		require.Empty(t, mandatory.Items)
	})
	t.Run("the Manifest of an earlier build goes, and its agent stays", func(t *testing.T) {
		w.Instance.Stop()
		w.workers.Stop()
		former := (*v1beta2.Manifest)(read().DeepCopy())
		former.TypeMeta, former.ResourceVersion, former.UID, former.ManagedFields = metav1.TypeMeta{}, "", "", nil
		former.Labels[shared.LabelMandatoryModule] = shared.ValueTrue
		status := former.Status
		w.ControlPlane.ForceDelete(agent)
		require.NoError(t, w.ControlPlane.Create(t.Context(), former))
		former.Status = status
		require.NoError(t, w.ControlPlane.Status().Update(t.Context(), former))
		require.NotEmpty(t, former.Finalizers)

		uid := agent.UID
		w.Instance.Launch()
		w.workers.Start()
		w.SweepShard(t, 0)
		w.Eventually("the Manifest is gone, and the agent is a RemoteAgent's", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(former), &v1beta2.Manifest{})))
			require.NoError(c, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
			assert.NotEqual(c, uid, agent.UID)
			assert.Equal(c, shared.StateReady, agent.Status.State)
			assert.NotEmpty(c, agent.Status.Inventory)
		})
		require.Equal(t, before.UID, deployment().UID)
		require.Equal(t, before.Generation, deployment().Generation, "nobody touched the agent")
		w.agentBecomes(metav1.ConditionTrue)
	})
	t.Run("without modules the Kyma has no Manifest, and is Ready", func(t *testing.T) {
		w.becomesActedOn()
		w.BecomesReady("watched")
		require.Empty(t, w.Manifests(kyma))
		require.Equal(t, before.UID, deployment().UID)
	})
	t.Run("where events are switched off it goes, and the Kyma stays Ready", func(t *testing.T) {
		for _, instance := range []*harness.Instance{w.Instance, w.workers} {
			instance.Stop()
			instance.Flags = slices.Clone(instance.Flags)
			instance.Flags[slices.Index(instance.Flags, "--watcher-routing")+1] = "none"
		}
		w.Instance.Launch()
		w.workers.Start()
		w.agent.Ended(2 * time.Minute)
		w.Eventually("the RemoteAgent is gone", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), &v1beta2.RemoteAgent{})))
		})
		require.Nil(t, w.webhooks(t))
		w.BecomesReady("watched")
	})
}
