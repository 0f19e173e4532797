package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// forget clears the Manifest's status, as a restored backup does.
func (s *environment) forget() {
	s.Helper()
	m := s.read()
	m.Status = v1beta2.ManifestStatus{}
	require.NoError(s, s.control.Status().Update(context.Background(), m))
}

func TestARemovalRecoversALostInventory(t *testing.T) {
	s := newEnvironment(t, strings.Replace(moduleYAML, "replicas: 0", "replicas: 1", 1)+configMap("users"), withDefaultCR)
	s.installReady()
	users := s.get("v1", "ConfigMap", "ID-remote", "users")
	users.SetAnnotations(nil)
	require.NoError(t, s.remote.Update(context.Background(), users))
	s.forget()
	s.delete()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, 100*time.Millisecond)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"))
	require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "users"), "what does not carry our mark is not ours")
}

func TestTheNextReconcileRecoversALostInventory(t *testing.T) {
	s := newEnvironment(t, moduleYAML+configMap("old"), nil)
	s.installReady()
	s.forget()
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(moduleYAML) })
	later := time.Now().Add(time.Hour)
	s.activities.Steps.Options.Clock = func() time.Time { return later }
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "old"), "what the module no longer has is pruned")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
	require.Len(t, s.read().Status.Inventory, 6)
}

func TestAManifestWithoutAnInventoryIsReleasedWhenItsClusterCannotBeReached(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.update(func(m *v1beta2.Manifest) { m.Finalizers = manifests.OwnFinalizers() })
	s.delete()
	s.requests.intercept(func(*http.Request) error { return errors.New("cut") })
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	events, _ := s.recorded.take()
	require.Len(t, events, 1, "somebody has to check what remains there")
	require.Contains(t, events[0], "Warning *v1beta2.Kyma ReleasedWithoutCluster: Manifest "+s.id+"-sample of module sample is released without a check of its cluster")
}

func TestAnInstallationThatWasNeverCompleteCanLoseAStoredVersionToo(t *testing.T) {
	const unknown = "apiVersion: unknown.example.com/v1\nkind: Unknown\nmetadata: {name: unknown}\n"
	s := newEnvironment(t, crdYAML+unknown, nil)
	require.Equal(t, manifests.OutcomeIncomplete, s.apply().Outcome)
	require.Empty(t, s.read().Status.InstalledRef)
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "2.0.0"
		m.Spec.Install.Source = s.layer(strings.ReplaceAll(crdYAML, "- name: v1\n", "- name: v2\n") + configMap("new"))
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonStoredVersions, result.Observed.Reason)
	require.Contains(t, result.Observed.Message, "samples."+s.id+".example.com would lose v1")
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "new"))
}

func TestAnUpgradeThatWouldLoseAStoredVersionAppliesNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	upgrade := func(from, to string) install.ApplyResult {
		s.update(func(m *v1beta2.Manifest) {
			m.Spec.Version = to
			m.Spec.Install.Source = s.layer(strings.Replace(strings.ReplaceAll(moduleYAML, "- name: v1\n", "- name: "+from+"\n"), "key: value", "key: new", 1))
		})
		return s.apply()
	}
	result := upgrade("v2", "2.0.0")
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, "nothing was applied: CustomResourceDefinition samples."+s.id+".example.com would lose v1, in which objects are stored", result.Observed.Message)
	value, _, _ := unstructured.NestedString(s.get("v1", "ConfigMap", "ID-remote", "settings").Object, "data", "key")
	require.Equal(t, "value", value)
	require.Equal(t, "1.0.0", s.read().Status.InstalledVersion)

	require.Equal(t, manifests.OutcomeApplied, upgrade("v1", "2.0.1").Outcome, "it is repaired by moving on")
}
