package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// What operators' scripts do with Manifests means modules: they wait until a Kyma has none, and stop or start the reconciles
// of all mandatory ones. None of it concerns the agent, and the Manifest goes that earlier builds made for it.
func TestScriptsThatActOnManifestsDoNotMeetTheAgent(t *testing.T) {
	w := newWatched(t)
	w.becomesActedOn("sample")
	kyma := w.Kyma("watched")
	agent := &v1beta2.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: shared.RemoteAgentName(kyma.Name)}}
	read := func() *v1beta2.RemoteAgent {
		t.Helper()
		require.NoError(t, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
		return agent
	}
	deployment := func() *appsv1.Deployment {
		t.Helper()
		found := &appsv1.Deployment{}
		require.NoError(t, w.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: shared.AgentName}, found))
		return found
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
	t.Run("the Manifest of an earlier build goes, and the agent stays", func(t *testing.T) {
		former := (*v1beta2.Manifest)(read().DeepCopy())
		former.TypeMeta, former.ResourceVersion, former.UID, former.ManagedFields = metav1.TypeMeta{}, "", "", nil
		former.Labels[shared.LabelMandatoryModule] = shared.ValueTrue
		status := former.Status
		require.NoError(t, w.ControlPlane.Create(t.Context(), former))
		former.Status = status
		require.NoError(t, w.ControlPlane.Status().Update(t.Context(), former))
		require.NotEmpty(t, former.Finalizers)
		w.SweepShard(t, 0)
		w.Eventually("the Manifest is gone", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(former), &v1beta2.Manifest{})))
		})
		require.Empty(t, w.Runs(fmt.Sprintf("WorkflowId='%s'", kick.ManifestWorkflowID(kick.RefOf(former)))), "nobody worked on it")
		uid := agent.UID
		require.Equal(t, uid, read().UID)
		require.Equal(t, before.ResourceVersion, deployment().ResourceVersion, "nobody touched the agent")
	})
	t.Run("a RemoteAgent that is lost is made anew, and finds its agent", func(t *testing.T) {
		uid := read().UID
		agent.Finalizers = nil
		require.NoError(t, w.ControlPlane.Update(t.Context(), agent))
		require.NoError(t, w.ControlPlane.Delete(t.Context(), agent))
		w.Eventually("it is there again and Ready", time.Minute, func(c *assert.CollectT) {
			require.NoError(c, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), agent))
			assert.NotEqual(c, uid, agent.UID)
			assert.Equal(c, shared.StateReady, agent.Status.State)
			assert.NotEmpty(c, agent.Status.Inventory)
		})
		require.Equal(t, before.UID, deployment().UID)
		w.agentBecomes(metav1.ConditionTrue)
	})
	t.Run("without modules the Kyma has no Manifest, and is Ready", func(t *testing.T) {
		w.becomesActedOn()
		w.BecomesReady("watched")
		require.Empty(t, w.Manifests(kyma))
		require.Equal(t, before.UID, deployment().UID)
	})
	t.Run("with the Kyma all goes", func(t *testing.T) {
		w.RemoveKyma("watched")
		w.agent.Ended(time.Minute)
		require.True(t, apierrors.IsNotFound(w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(agent), agent)))
	})
}
