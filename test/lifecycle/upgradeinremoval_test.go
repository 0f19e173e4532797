package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestANewerVersionIsAppliedWhileOnlyTheDefaultCustomResourceBlocksARemoval(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	held := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
	require.NoError(t, s.remote.Patch(context.Background(), s.sample("default"), held))
	s.delete()
	waiting := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, waiting.Outcome)
	require.Equal(t, readiness.ReasonWaitingForModuleCR, waiting.Observed.Reason)

	newer := strings.ReplaceAll(moduleYAML, "name: settings", "name: upgraded-settings")
	require.NotEqual(t, moduleYAML, newer)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Version, m.Spec.Install.Source = "1.1.0", s.layer(newer) })
	again := s.remove(waiting.Observed)
	require.Equal(t, manifests.OutcomeWaiting, again.Outcome)
	require.Equal(t, waiting.Observed, again.Observed, "what is said of the removal stays the same")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "upgraded-settings"))
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"), "what it no longer has is removed")
	require.Equal(t, "1.1.0", s.read().Status.InstalledVersion)
	require.Equal(t, shared.StateDeleting, s.read().Status.State)
	s.requests.take()
	s.remove(waiting.Observed)
	require.Empty(t, writes(s.requests.take()), "once is enough")

	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	require.NoError(t, s.remote.Patch(context.Background(), s.sample("default"), free))
	require.Eventually(t, func() bool { return s.remove(waiting.Observed).Outcome == manifests.OutcomeRemoved }, time.Minute, 100*time.Millisecond)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "upgraded-settings"))
}

func TestANewerVersionIsNotAppliedWhileUsersObjectsBlockARemoval(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	require.NoError(t, s.remote.Create(context.Background(), s.sample("of-a-user")))
	s.delete()
	waiting := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, waiting.Outcome)
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version, m.Spec.Install.Source = "1.1.0", s.layer(strings.ReplaceAll(moduleYAML, "name: settings", "name: upgraded-settings"))
	})
	s.remove(waiting.Observed)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "upgraded-settings"))
	require.NoError(t, s.remote.Delete(context.Background(), s.sample("of-a-user")))
}
