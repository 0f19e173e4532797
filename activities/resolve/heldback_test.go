package resolve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// No Kyma's status shows a mandatory module. Without the note, its rollout would take the wait for a failure.
func TestTheManifestOfAHeldBackMandatoryModuleSaysWhy(t *testing.T) {
	r := &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "warden-1.1.0", UID: "r-uid"},
		Spec:       v1beta2.ModuleRolloutSpec{ModuleName: "warden", From: "1.0.0", To: "1.1.0", Policy: "all", Sequence: 1},
	}
	next := desiredtest.Template("warden", "1.1.0")
	next.Spec.RequiresDowntime = true
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, r, mandatoryMeta("warden", "1.1.0"), desiredtest.Template("warden", "1.0.0"), next)
	b.planner.Windows = closedUntil(time.Now().Add(time.Hour))
	b.reconcile(t)
	require.Equal(t, "1.0.0", b.only(t).Spec.Version)
	require.NotContains(t, b.only(t).Annotations, rollout.AnnotationHeldBack, "the version is not released yet")

	b.reach(t, r, 1, false)
	b.Cluster.Forget()
	b.reconcile(t)
	held, ok := rollout.HeldBackFrom(b.only(t), "1.1.0")
	require.True(t, ok)
	require.Equal(t, rollout.HeldBack{Version: "1.1.0", Waits: true}, held)
	require.Contains(t, b.Cluster.Writes(), "patch Manifest "+b.only(t).Name)
	b.Cluster.Forget()
	b.reconcile(t)
	require.Empty(t, b.Cluster.Writes(), "once")

	require.NoError(t, b.Cluster.Delete(t.Context(), next))
	b.reconcile(t)
	held, ok = rollout.HeldBackFrom(b.only(t), "1.1.0")
	require.True(t, ok)
	require.False(t, held.Waits)
	require.Equal(t, versions.ReasonTemplateNotFound, held.Reason)
	require.Contains(t, held.Message, `ModuleTemplate.operator.kyma-project.io "warden-1.1.0" not found`)

	next.ResourceVersion = ""
	next.Spec.RequiresDowntime = false
	require.NoError(t, b.Cluster.Create(t.Context(), next))
	require.Len(t, b.reconcile(t).Updated, 1)
	_, ok = rollout.HeldBackFrom(b.only(t), "1.1.0")
	require.False(t, ok)
	require.NoError(t, b.Cluster.Get(t.Context(), client.ObjectKeyFromObject(next), next))
}
