package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/upstream"
)

// placed is a module whose objects all name their namespace, as upstream has another default than we have.
func placed(module string) string {
	module = strings.ReplaceAll(module, "{name: operator}", "{name: operator, namespace: ID-remote}")
	return strings.ReplaceAll(module, "{name: settings,", "{name: settings, namespace: ID-remote,")
}

// upstreamModule is one of its modules, with a workload that runs.
func upstreamModule() string {
	return placed(strings.Replace(moduleYAML, "replicas: 0", "replicas: 1", 1))
}

const oldWorkload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: old-operator, namespace: ID-remote}
spec:
  replicas: 1
  selector: {matchLabels: {app: old-operator}}
  template:
    metadata: {labels: {app: old-operator}}
    spec:
      containers: [{name: operator, image: "example.com/operator:0.9.0"}]
---
`

// leftByUpstream returns an environment whose Manifest and module upstream left, ready and with its default custom
// resource.
func leftByUpstream(t *testing.T, module string) *environment {
	t.Helper()
	s := newEnvironment(t, module, withDefaultCR)
	s.update(upstream.Shape)
	m := s.read()
	synced, err := upstream.Install(context.Background(), s.remote, m, strings.ReplaceAll(module, "ID", s.id))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return upstream.CreateDefaultCR(context.Background(), s.remote, m) == nil }, time.Minute, pollEvery)
	s.setState("default", "Ready")
	s.status(func(m *v1beta2.Manifest) { m.Status = upstream.Status(m, synced) })
	if strings.Contains(module, "kind: Deployment") {
		require.Eventually(t, func() bool {
			available, _, _ := unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "status", "availableReplicas")
			return available == 1
		}, time.Minute, pollEvery)
	}
	s.requests.take()
	return s
}

func (s *environment) status(change func(*v1beta2.Manifest)) {
	s.Helper()
	m := s.read()
	change(m)
	require.NoError(s, s.control.Status().Update(context.Background(), m))
}

// planned gives the Manifest the spec that the plan of its Kyma has for it.
func (s *environment) planned(module string) {
	s.Helper()
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Remote, m.Spec.Install.Source = true, s.layer(module)
		m.Spec.Install.Source.Repo = strings.TrimSuffix(m.Spec.Install.Source.Repo, "/component-descriptors")
	})
}

// identity is what must stay of an object that is taken over. The generation of a Deployment counts changed annotations
// as well: what tells that its pods are not replaced is its revision.
func (s *environment) identity(apiVersion, kind, namespace, name string) string {
	s.Helper()
	u := s.get(apiVersion, kind, namespace, name)
	require.NotNil(s, u, name)
	if kind == "Deployment" {
		return fmt.Sprintf("%s revision %s", u.GetUID(), u.GetAnnotations()["deployment.kubernetes.io/revision"])
	}
	return fmt.Sprintf("%s generation %d", u.GetUID(), u.GetGeneration())
}

// pods are the uids of the pods in the remote namespace.
func (s *environment) pods() []string {
	s.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = "v1", "PodList"
	require.NoError(s, s.remote.List(context.Background(), list, client.InNamespace(s.id+"-remote")))
	var all []string
	for _, pod := range list.Items {
		all = append(all, string(pod.UID))
	}
	return all
}

func TestAModuleOfUpstreamsIsTakenOverInPlace(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	before, pods := s.identity("apps/v1", "Deployment", "ID-remote", "operator"), s.pods()
	definition := s.identity("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
	s.planned(upstreamModule())
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.Equal(t, shared.StateReady, s.read().Status.State, "a module that was ready stays ready")
	require.Equal(t, shared.StateReady, s.settle(result).State)
	require.Equal(t, before, s.identity("apps/v1", "Deployment", "ID-remote", "operator"))
	require.Equal(t, definition, s.identity("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
	require.Equal(t, pods, s.pods(), "no pod is restarted")

	m := s.read()
	require.Len(t, m.Status.Inventory, 6)
	for _, e := range m.Status.Inventory {
		require.Len(t, e.Hash, 16, e.ID)
	}
	require.Equal(t, "1.0.0", m.Status.InstalledVersion)
	deployment := s.get("apps/v1", "Deployment", "ID-remote", "operator")
	require.Equal(t, s.id+"/"+m.Name, deployment.GetAnnotations()["operator.kyma-project.io/owned-by"])
	require.NotContains(t, deployment.GetAnnotations(), "deprecated-operator.kyma-project.io/owned-by")
	events, corrected := s.recorded.take()
	require.Zero(t, corrected, "what upstream applied is no drift")
	require.Len(t, events, 1)
	require.Contains(t, events[0], "Normal *v1beta2.Manifest AdoptedFromUpstream: took over 6 objects of module sample that upstream had installed")

	s.requests.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Empty(t, writes(s.requests.take()), "it is taken over once")
}

func TestADefaultCRThatItsUserDeletedUnderUpstreamStaysDeleted(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	require.NoError(t, s.remote.Delete(context.Background(), s.sample("default")))
	s.planned(upstreamModule())
	seen := s.ready(s.install())
	require.False(t, seen.DefaultCRWanted)
	require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
	s.report(seen, true)
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionModuleCR))
}

func TestADefaultCRThatUpstreamHadNotCreatedIsCreated(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	require.NoError(t, s.remote.Delete(context.Background(), s.sample("default")))
	s.status(func(m *v1beta2.Manifest) { m.Status.Conditions = m.Status.Conditions[:2] })
	s.planned(upstreamModule())
	s.install()
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
}

func TestAnUpgradeAcrossTheTakeOverPrunesTheOldVersion(t *testing.T) {
	s := leftByUpstream(t, upstreamModule()+oldWorkload)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Version = "2.0.0" })
	s.planned(upstreamModule())
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "old-operator"), "the old version must not run beside the new one")
	require.Equal(t, shared.StateProcessing, s.read().Status.State)
	require.Len(t, s.read().Status.Inventory, 6)
}

func TestWhatUpstreamHadAppliedAndNotListedYetIsTakenOver(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	m := s.read()
	_, err := upstream.Install(context.Background(), s.remote, m, strings.ReplaceAll(oldWorkload, "ID", s.id))
	require.NoError(t, err)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source.Ref = "sha256:" + strings.Repeat("0", 64) })
	s.planned(upstreamModule() + configMap("new"))
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "old-operator"))
}

func TestARemovalAfterTheTakeOverRemovesEverything(t *testing.T) {
	for name, deletedBefore := range map[string]bool{"deleted under upstream": true, "deleted afterwards": false} {
		t.Run(name, func(t *testing.T) {
			s := leftByUpstream(t, upstreamModule())
			if deletedBefore {
				s.status(func(m *v1beta2.Manifest) { m.Status.State = shared.StateDeleting })
			} else {
				s.planned(upstreamModule())
				s.install()
			}
			s.delete()
			require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
			require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
			require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"))
			require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "ID-operator"))
			require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
			require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
			require.Error(t, s.control.Get(context.Background(), client.ObjectKeyFromObject(s.manifest), &v1beta2.Manifest{}), "its finalizers are gone")
		})
	}
}

func TestARemovalOfUpstreamsModuleWithUsersDataWaits(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	require.NoError(t, s.remote.Create(context.Background(), s.sample("users")))
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
}

func TestAnIncompleteReadingTakesNothingOver(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	before := s.read()
	for _, refused := range []string{"/clusterroles", "/samples/default"} {
		s.requests.intercept(func(r *http.Request) error {
			if strings.HasSuffix(r.URL.Path, refused) {
				return errors.New("cut")
			}
			return nil
		})
		_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(s.manifest)})
		require.Error(t, err, refused)
		require.Equal(t, before.Status, s.read().Status, refused)
	}
	s.delete()
	_, err := s.activities.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: kick.RefOf(s.manifest)})
	require.Error(t, err)
	require.Equal(t, before.Finalizers, s.read().Finalizers, "it is not released")
	require.Empty(t, writes(s.requests.take()))
}

func TestUpstreamsRemoteFalseIsNotTheControlPlane(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	result := s.apply()
	require.Equal(t, manifests.OutcomeRefused, result.Outcome)
	require.Equal(t, manifests.ReasonAwaitsPlan, result.Observed.Reason)
	require.Equal(t, shared.StateReady, result.Observed.State)
	require.Empty(t, writes(s.requests.take()))
	s.report(result.Observed, true)
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionInstallation))
	require.Contains(t, s.kicks.take(), "a Manifest is not as planned")
	require.Len(t, s.read().Status.Inventory, 6, "what there is has been recorded")
}

func TestAModuleOfUpstreamsThatBecomesUnmanagedLosesTheMarks(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	s.update(func(m *v1beta2.Manifest) { m.Annotations["operator.kyma-project.io/is-unmanaged"] = "true" })
	require.Equal(t, manifests.OutcomeUnmanaged, s.apply().Outcome)
	deployment := s.get("apps/v1", "Deployment", "ID-remote", "operator")
	require.NotNil(t, deployment)
	require.NotContains(t, deployment.GetLabels(), "operator.kyma-project.io/managed-by")
	require.NotContains(t, deployment.GetAnnotations(), "deprecated-operator.kyma-project.io/owned-by")
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
	require.Error(t, s.control.Get(context.Background(), client.ObjectKeyFromObject(s.manifest), &v1beta2.Manifest{}))
}

func TestWhatFormerFieldManagersOfUpstreamOwnIsOurs(t *testing.T) {
	s := leftByUpstream(t, upstreamModule())
	ctx := context.Background()
	settings := s.get("v1", "ConfigMap", "ID-remote", "settings")
	former := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": settings.GetName(), "namespace": settings.GetNamespace()},
		"data":     map[string]any{"former": "value"},
	}}
	require.NoError(t, s.remote.Patch(ctx, former, client.Apply, client.FieldOwner("lifecycle-manager"))) //nolint:staticcheck // the same request
	s.planned(upstreamModule())
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	after := s.get("v1", "ConfigMap", "ID-remote", "settings")
	data, _, _ := unstructured.NestedStringMap(after.Object, "data")
	require.Equal(t, map[string]string{"key": "value"}, data, "what the module no longer has is removed")
	require.Equal(t, settings.GetUID(), after.GetUID())
	for _, e := range after.GetManagedFields() {
		require.NotEqual(t, "lifecycle-manager", e.Manager)
	}
}

func TestAWorkloadThatIsScaledIsNotScaledByTheTakeOver(t *testing.T) {
	const scaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: operator, namespace: ID-remote}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: operator}, minReplicas: 1, maxReplicas: 3}
---
`
	module := placed(strings.Replace(moduleYAML, "replicas: 0", "replicas: 1", 1)) + scaler
	s := leftByUpstream(t, module)
	_, err := upstream.Install(context.Background(), s.remote, s.read(), strings.ReplaceAll(strings.Replace(module, "replicas: 1", "replicas: 3", 1), "ID", s.id))
	require.NoError(t, err)
	before := s.identity("apps/v1", "Deployment", "ID-remote", "operator")
	s.planned(module)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	replicas, _, _ := unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "spec", "replicas")
	require.EqualValues(t, 3, replicas)
	require.Equal(t, before, s.identity("apps/v1", "Deployment", "ID-remote", "operator"))
}

func TestWhatUpstreamPutIntoTheDefaultNamespaceStaysThere(t *testing.T) {
	const unnamed, inDefault = "metadata: {name: ID-store}", "metadata: {name: ID-store, namespace: default}"
	const store = `
apiVersion: apps/v1
kind: StatefulSet
` + unnamed + `
spec:
  replicas: 0
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: store, image: example.com/store}]}
---
`
	s := leftByUpstream(t, upstreamModule())
	find := func(namespace string) *unstructured.Unstructured {
		return s.get("apps/v1", "StatefulSet", namespace, "ID-store")
	}
	t.Cleanup(func() {
		if left := find("default"); left != nil {
			_ = s.remote.Delete(context.Background(), left)
		}
	})
	synced, err := upstream.Install(context.Background(), s.remote, s.read(), strings.ReplaceAll(strings.Replace(store, unnamed, inDefault, 1), "ID", s.id))
	require.NoError(t, err)
	synced[0].Namespace = "" // as the module has it
	s.status(func(m *v1beta2.Manifest) { m.Status.Synced = append(m.Status.Synced, synced...) })
	before := find("default").GetUID()

	s.planned(upstreamModule() + store)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	s.planned(upstreamModule() + store + configMap("new"))
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Equal(t, before, find("default").GetUID(), "with another uid its data would be gone")
	require.Contains(t, find("default").GetAnnotations(), "operator.kyma-project.io/owned-by")
	require.Nil(t, find("ID-remote"))
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "new"), "what is new is where ours are")

	s.planned(upstreamModule())
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Nil(t, find("default"), "a version without it removes it")
}

func TestAModuleThatWentBackToUpstreamIsTakenOverAgainInPlace(t *testing.T) {
	for name, upstreamWorked := range map[string]bool{"as its definitions prune the status": false, "after it worked": true} {
		t.Run(name, func(t *testing.T) {
			s := leftByUpstream(t, upstreamModule())
			s.planned(upstreamModule())
			s.installReady()
			identities := func() []string {
				return append(s.pods(),
					s.identity("apps/v1", "Deployment", "ID-remote", "operator"),
					s.identity("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"),
					s.identity("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"),
					s.identity("ID.example.com/v1", "Sample", "ID-remote", "default"),
				)
			}
			before := identities()
			s.status(func(m *v1beta2.Manifest) {
				kept := m.Status
				m.Status = v1beta2.ManifestStatus{State: kept.State, Conditions: kept.Conditions, Synced: kept.Synced, LastOperation: kept.LastOperation}
			})
			if upstreamWorked {
				s.update(upstream.Shape)
				_, err := upstream.Install(context.Background(), s.remote, s.read(), strings.ReplaceAll(upstreamModule(), "ID", s.id))
				require.NoError(t, err)
				s.planned(upstreamModule())
			}
			result := s.apply()
			require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
			require.Equal(t, shared.StateReady, s.ready(s.settle(result)).State)
			require.Equal(t, before, identities())
			require.Len(t, s.read().Status.Inventory, 6)
			for _, request := range s.requests.take() {
				require.False(t, strings.HasPrefix(request, http.MethodDelete), request)
			}
		})
	}
}
