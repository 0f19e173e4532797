package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const crdYAML = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: samples.ID.example.com}
spec:
  group: ID.example.com
  names: {kind: Sample, plural: samples, singular: sample, listKind: SampleList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
status: {acceptedNames: {kind: "", plural: ""}, conditions: null, storedVersions: null}
---
`

const operatorYAML = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ID-operator, creationTimestamp: null}
rules: [{apiGroups: ["ID.example.com"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ID-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ID-operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: ID-remote}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: operator}}
data: {key: value}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      serviceAccountName: operator
      containers: [{name: operator, image: "example.com/operator:1.0.0"}]
---
`

const moduleYAML = crdYAML + operatorYAML

func TestInstallMakesAModuleReadyAndReportsIt(t *testing.T) {
	s := newEnvironment(t, strings.Replace(moduleYAML, "replicas: 0", "replicas: 2", 1), withDefaultCR)

	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.Equal(t, shared.StateProcessing, result.Observed.State)
	require.Equal(t, "sample", result.Module)
	const objects = 6
	// How often it checks whether the definition is served depends on the API server.
	requests := slices.DeleteFunc(s.requests.take(), func(r string) bool { return r == "GET /apis/"+s.id+".example.com/v1" })
	const namespace = "POST /api/v1/namespaces"
	require.Equal(t, []string{namespace}, slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return r != namespace }))
	// Objects that are applied in parallel may each find the namespace missing once, and are sent again.
	slices.Sort(requests)
	requests = slices.Compact(requests)
	// In addition it reads which cluster it is, which account we have there, and what is bound to it.
	require.LessOrEqual(t, len(requests), objects+4, requests)

	m := s.read()
	require.ElementsMatch(t, []string{"declarative.kyma-project.io/finalizer", "label-removal-finalizer"}, m.Finalizers)
	require.Equal(t, "1.0.0", m.Status.InstalledVersion)
	require.Equal(t, m.Spec.Install.Source.Ref, m.Status.InstalledRef)
	require.Len(t, m.Status.Inventory, objects)
	require.Len(t, m.Status.Synced, objects)
	for _, e := range m.Status.Inventory {
		require.NotEmpty(t, e.UID, e.ID)
		require.Len(t, e.Hash, 16, e.ID)
	}
	require.Equal(t, shared.StateProcessing, m.Status.State)
	require.Equal(t, manifests.InputsDigest(m), m.Status.InputsDigest)
	require.False(t, m.Status.Settled)

	deployment := s.get("apps/v1", "Deployment", "ID-remote", "operator")
	require.NotNil(t, deployment)
	require.Equal(t, "kyma", deployment.GetLabels()["operator.kyma-project.io/managed-by"])
	require.Equal(t, s.manifest.Name, deployment.GetLabels()["app.kubernetes.io/component"])
	require.Equal(t, "Kyma", deployment.GetLabels()["app.kubernetes.io/part-of"])
	require.Equal(t, s.id+"/"+s.manifest.Name, deployment.GetAnnotations()["operator.kyma-project.io/owned-by"])
	require.NotEmpty(t, deployment.GetAnnotations()["operator.kyma-project.io/managed-by-reconciler-disclaimer"])
	require.NotEmpty(t, deployment.GetAnnotations()["operator.kyma-project.io/applied-digest"])
	require.Equal(t, map[string]string{"app": "operator"}, map[string]string{"app": s.get("v1", "ConfigMap", "ID-remote", "settings").GetLabels()["app"]})

	seen := s.follow(result.Observed)
	require.Equal(t, readiness.ReasonModuleCRPending, seen.Reason, seen.Message)
	require.False(t, seen.DefaultCRWanted)
	require.EqualValues(t, objects, seen.Total)
	require.EqualValues(t, objects, seen.Ready)
	cr := s.get("ID.example.com/v1", "Sample", "ID-remote", "default")
	require.NotNil(t, cr)
	require.Equal(t, "kyma", cr.GetLabels()["operator.kyma-project.io/watched-by"])
	require.Equal(t, "kyma", cr.GetLabels()["operator.kyma-project.io/managed-by"])
	require.NotContains(t, cr.Object, "status")
	require.Equal(t, string(cr.GetUID()), s.read().Status.DefaultCR.UID)
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionResources))
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionModuleCR))
	require.Equal(t, metav1.ConditionFalse, s.condition(shared.ConditionInstallation))

	s.requests.take()
	again, err := s.news(seen)
	if err != nil {
		require.Equal(t, fault.Pending, fault.Of(err).Kind)
	}
	require.NotEqual(t, shared.StateReady, again.State, "nothing is Ready by default")
	const kindsWithHealth = 2
	require.LessOrEqual(t, len(s.requests.take()), kindsWithHealth+1)

	s.setState("default", "Ready")
	seen = s.ready(seen)
	s.kicks.take()
	require.True(t, s.report(seen, true).Changed)
	require.Len(t, s.kicks.take(), 1)
	require.False(t, s.report(seen, true).Changed, "the same once more changes nothing")
	require.Empty(t, s.kicks.take())
	m = s.read()
	require.Equal(t, shared.StateReady, m.Status.State)
	require.True(t, m.Status.Settled)
	require.Equal(t, v1beta2.ObjectCounts{Total: objects, Ready: objects}, *m.Status.Counts)
	require.Equal(t, shared.StateReady, m.Status.DefaultCR.State)
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionInstallation))

	s.setState("default", "Warning")
	changed, _ := s.probe()
	require.True(t, changed)
}

func TestInstallAgainChangesNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	before, deployment := s.read(), s.get("apps/v1", "Deployment", "ID-remote", "operator")

	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome)
	require.Equal(t, before.ResourceVersion, s.read().ResourceVersion, "the status and its hashes are the same")
	require.Equal(t, deployment.GetGeneration(), s.get("apps/v1", "Deployment", "ID-remote", "operator").GetGeneration())
	require.Empty(t, s.kicks.take())

	seen := s.settle(result)
	require.Equal(t, shared.StateReady, seen.State, "a pass that repairs says at its end how the module is")
	require.False(t, s.report(seen, true).Changed)
}

func TestUpgradeChangesPrunesAndKeepsWhatIsNotOurs(t *testing.T) {
	extra := `
apiVersion: v1
kind: ConfigMap
metadata: {name: old}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: taken}
---
apiVersion: v1
kind: Namespace
metadata: {name: ID}
---
`
	s := newEnvironment(t, moduleYAML+extra, nil)
	s.installReady()
	ctx := context.Background()
	taken := s.get("v1", "ConfigMap", "ID-remote", "taken")
	taken.SetAnnotations(map[string]string{shared.AnnotationOwnedBy: "other/manifest"})
	require.NoError(t, s.remote.Update(ctx, taken))
	user := s.sample("mine")
	require.NoError(t, s.remote.Create(ctx, user))

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(strings.ReplaceAll(operatorYAML, "operator:1.0.0", "operator:1.1.0"))
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	require.Contains(t, result.Observed.Message, "upgrading from 1.0.0 to version 1.1.0")
	require.Equal(t, []string{"Manifest is Processing"}, s.kicks.take(), "the reason is a metric label: it names nothing")
	containers, _, _ := unstructured.NestedSlice(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "spec", "template", "spec", "containers")
	require.Equal(t, []any{map[string]any{"name": "operator", "image": "example.com/operator:1.1.0"}}, pick(containers, "name", "image"))
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "old"), "what the module no longer has is pruned")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "taken"), "what another owner has marked is not")
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "mine"), "nor are definitions with user data")
	require.NotNil(t, s.get("v1", "Namespace", "", "ID"), "nor namespaces, before the module is removed")
	m := s.read()
	require.Equal(t, "1.1.0", m.Status.InstalledVersion)
	ids := map[string]bool{}
	for _, e := range m.Status.Inventory {
		ids[e.ID] = true
	}
	require.Len(t, ids, 7, "what is kept stays in the inventory: %v", ids)
}

func TestAFailedRenderingChangesNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	before := s.read()
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer("<html>") })
	_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(s.manifest)})
	f := fault.Of(err)
	require.Equal(t, fault.Rejected, f.Kind)
	require.Equal(t, "InvalidManifest", f.Reason)
	require.Empty(t, writes(s.requests.take()))
	m := s.read()
	require.Equal(t, before.Status.Inventory, m.Status.Inventory)
	require.Equal(t, manifests.InputsDigest(m), m.Status.InputsDigest, "the sweep need not reconcile it again")
}

func TestALayerThatTheRegistryDoesNotHaveYetIsRetriedSlowly(t *testing.T) {
	s := newEnvironment(t, configMap("late"), nil)
	there := s.read().Spec.Install.Source
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source.Ref = "sha256:" + strings.Repeat("0", 64) })
	_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: s.ref()})
	f := fault.Of(err)
	require.Equal(t, fault.Transient, f.Kind)
	require.Equal(t, "LayerNotFound", f.Reason)
	require.True(t, f.SlowRetry)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = there })
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
}

func TestObjectsThatFailDoNotStopTheOthers(t *testing.T) {
	s := newEnvironment(t, operatorYAML+`
apiVersion: v1
kind: ConfigMap
metadata: {name: Not_A_Name}
---
apiVersion: unknown.example.com/v1
kind: Unknown
metadata: {name: unknown}
---
apiVersion: unknown.example.com/v1
kind: Optional
metadata: {name: optional, annotations: {operator.kyma-project.io/optional: "true"}}
---
apiVersion: v1
kind: Secret
metadata: {name: broken}
data: {password: not base64}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: ID-nowhere}
---
`, nil)
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Equal(t, readiness.ReasonApplyFailed, result.Observed.Reason)
	require.Contains(t, result.Observed.Message, "4 of 9 objects could not be applied")
	require.NotContains(t, result.Observed.Message, "not base64", "values may be secret")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	m := s.read()
	require.Empty(t, m.Status.InstalledVersion, "nothing is installed before all of it is")
	require.EqualValues(t, 4, m.Status.Counts.Failed)
	require.True(t, s.report(result.Observed, false).Changed)
	require.Equal(t, shared.StateError, s.read().Status.State)
}

func TestTheDefaultCRBelongsToItsUser(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	ctx := context.Background()
	require.NoError(t, s.remote.Delete(ctx, s.sample("default")))

	result := s.apply()
	seen := s.settle(result)
	require.Equal(t, shared.StateReady, seen.State)
	require.Equal(t, readiness.ReasonModuleCRRemoved, seen.Reason)
	require.False(t, seen.DefaultCRWanted)

	s.update(func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{shared.AnnotationRecreateDefaultCR: "true"}
	})
	seen = s.install()
	require.Equal(t, readiness.ReasonModuleCRPending, seen.Reason)
	require.NotNil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
}

func TestAnExistingCRIsAdoptedUnchanged(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	user := s.sample("default")
	require.NoError(t, unstructured.SetNestedField(user.Object, "mine", "spec", "greeting"))
	require.NoError(t, s.remote.Create(context.Background(), user))
	s.update(func(m *v1beta2.Manifest) { m.Spec.Resource = s.defaultCR() })
	require.Equal(t, readiness.ReasonModuleCRPending, s.install().Reason)
	adopted := s.get("ID.example.com/v1", "Sample", "ID-remote", "default")
	greeting, _, _ := unstructured.NestedString(adopted.Object, "spec", "greeting")
	require.Equal(t, "mine", greeting)
	require.Equal(t, "kyma", adopted.GetLabels()["operator.kyma-project.io/watched-by"])
	require.Equal(t, string(adopted.GetUID()), s.read().Status.DefaultCR.UID)
}

func TestWithThePolicyIgnoreTheDefaultCRIsTheUsers(t *testing.T) {
	s := newEnvironment(t, moduleYAML, func(m *v1beta2.Manifest) {
		withDefaultCR(m)
		m.Spec.CustomResourcePolicy = v1beta2.CustomResourcePolicyIgnore
	})
	s.installReady()
	require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
	require.Empty(t, s.condition(shared.ConditionModuleCR))
	require.NoError(t, s.remote.Create(context.Background(), s.sample("default")))
	s.delete()
	result := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.Equal(t, shared.StateDeleting, result.Observed.State)
	require.Contains(t, result.Observed.Hint, s.id+"-remote/default")
}

func TestRemovalRunsInOrderAndRemovesEverything(t *testing.T) {
	s := newEnvironment(t, moduleYAML+"apiVersion: v1\nkind: Namespace\nmetadata: {name: ID}\n---\n", withDefaultCR)
	s.installReady()
	ctx := context.Background()
	held := s.get("ID.example.com/v1", "Sample", "ID-remote", "default")
	held.SetFinalizers([]string{"example.com/operator"})
	require.NoError(t, s.remote.Update(ctx, held))
	require.NoError(t, s.remote.Create(ctx, s.sample("mine")))
	s.delete()

	result := s.remove(readiness.Observed{})
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.Equal(t, readiness.ReasonBlockedByModuleCRs, result.Observed.Reason)
	require.Equal(t, "waiting for module crs deletion", result.Observed.Message)
	require.Contains(t, result.Observed.Hint, s.id+"-remote/mine")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"), "the operator runs while its custom resources go")
	require.False(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default").GetDeletionTimestamp().IsZero())
	s.report(result.Observed, false)
	require.Equal(t, shared.StateDeleting, s.read().Status.State)
	_, err := s.activities.Uninstall.WaitRemoval(ctx, uninstall.RemoveInput{Ref: kick.RefOf(s.manifest), Reported: result.Observed})
	require.Equal(t, fault.Pending, fault.Of(err).Kind)

	require.NoError(t, s.remote.Delete(ctx, s.sample("mine")))
	waited, err := s.activities.Uninstall.WaitRemoval(ctx, uninstall.RemoveInput{Ref: kick.RefOf(s.manifest), Reported: result.Observed})
	require.NoError(t, err)
	require.Equal(t, readiness.ReasonWaitingForModuleCR, waited.Observed.Reason)
	result = s.remove(result.Observed)
	require.Equal(t, shared.StateDeleting, result.Observed.State)
	require.Equal(t, "waiting for module crs deletion", result.Observed.Message)
	require.Contains(t, result.Observed.Hint, "Sample "+s.id+"-remote/default")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))

	released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	require.NoError(t, s.remote.Patch(ctx, s.sample("default"), released))
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)

	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"))
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
	require.Nil(t, s.get("v1", "Namespace", "", "ID"))
	require.NotNil(t, s.get("v1", "Namespace", "", "ID-remote"), "the remote namespace is every module's")
	require.Error(t, s.control.Get(ctx, client.ObjectKeyFromObject(s.manifest), &v1beta2.Manifest{}))
	require.Equal(t, manifests.OutcomeGone, s.remove(readiness.Observed{}).Outcome)
	require.Equal(t, manifests.OutcomeGone, s.apply().Outcome)
}

// An API server that serves a kind for the first time while it deletes the definition fails to delete it, and may keep
// the definition for minutes.
func TestADefinitionIsDeletedOnlyAfterItsKindWasServed(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.delete()
	s.requests.take()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
	all := s.requests.take()
	listed := slices.Index(all, "GET /apis/"+s.id+".example.com/v1/samples")
	deleted := slices.Index(all, "DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/samples."+s.id+".example.com")
	require.GreaterOrEqual(t, listed, 0, all)
	require.Greater(t, deleted, listed, all)
}

func TestANamespaceThatExistedBeforeOrIsUsedByOthersStays(t *testing.T) {
	const module = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: %s}\n---\n"
	s := newEnvironment(t, strings.ReplaceAll(module, "%s", "ID")+strings.ReplaceAll(module, "%s", "ID-remote"), nil)
	ctx := context.Background()
	require.NoError(t, s.remote.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id}}))
	s.installReady()
	require.Empty(t, s.get("v1", "Namespace", "", "ID").GetAnnotations()[shared.AnnotationOwnedBy])
	require.NoError(t, s.remote.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.id + "-remote", Name: "mine"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}))
	s.delete()
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	require.Nil(t, s.get("v1", "ConfigMap", "ID", "a"))
	require.True(t, s.get("v1", "Namespace", "", "ID").GetDeletionTimestamp().IsZero())
	require.True(t, s.get("v1", "Namespace", "", "ID-remote").GetDeletionTimestamp().IsZero())
	said, _ := s.recorded.take()
	require.Contains(t, strings.Join(said, "\n"), "Namespace "+s.id+"-remote: in use by Service "+s.id+"-remote/mine")
}

func TestAnUnmanagedModuleStaysWithoutOurMarks(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ID, labels: {team: sample}, annotations: {about: sample}}\n---\n"
	s := newEnvironment(t, namespace+strings.TrimPrefix(moduleYAML, "\n"), withDefaultCR)
	s.installReady()
	for range 3 {
		require.Equal(t, shared.ManagedByKyma, s.get("v1", "Namespace", "", "ID").GetLabels()[shared.LabelManagedBy])
		s.update(func(m *v1beta2.Manifest) { m.Annotations = map[string]string{shared.AnnotationIsUnmanaged: "true"} })
		result := s.apply()
		require.Equal(t, manifests.OutcomeUnmanaged, result.Outcome)
		require.True(t, s.manifestIsGone(), "it has nothing to say any more")
		own := s.get("v1", "Namespace", "", "ID")
		for _, u := range []*unstructured.Unstructured{
			s.get("apps/v1", "Deployment", "ID-remote", "operator"), s.get("ID.example.com/v1", "Sample", "ID-remote", "default"), own,
		} {
			require.NotContains(t, u.GetLabels(), shared.LabelManagedBy, u.GetKind())
			require.NotContains(t, u.GetLabels(), shared.LabelWatchedBy, u.GetKind())
			require.NotContains(t, u.GetAnnotations(), shared.AnnotationOwnedBy, u.GetKind())
		}
		require.Equal(t, "sample", own.GetLabels()["team"], "what the module itself says stays")
		require.Equal(t, "sample", own.GetAnnotations()["about"])
		require.NotContains(t, own.GetAnnotations(), shared.AnnotationDisclaimer)

		s.createManifestAgain()
		require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome, "it can be managed again")
	}
}

func (s *environment) createManifestAgain() {
	s.Helper()
	m := s.manifest.DeepCopy()
	m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, OwnerReferences: m.OwnerReferences}
	m.Status = v1beta2.ManifestStatus{}
	s.create(m)
	s.manifest = m
}

func TestASkippedManifestIsUnchangedUntilItsKymaIsDeleted(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.update(func(m *v1beta2.Manifest) { m.Labels[shared.LabelSkipReconciliation] = "true" })
	result := s.apply()
	require.Equal(t, manifests.OutcomeSkipped, result.Outcome)
	require.Equal(t, shared.StateReady, result.Observed.State)
	s.delete()
	require.Equal(t, manifests.OutcomeSkipped, s.remove(readiness.Observed{}).Outcome)
	require.Empty(t, s.requests.take())

	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "kyma"}}
	require.NoError(t, s.control.Delete(context.Background(), kyma))
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
}

func TestAnUnreachableClusterIsReportedAndNothingIsLost(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.requests.intercept(func(*http.Request) error { return errors.New("cut") })
	_, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(s.manifest)})
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
	before := s.read()
	require.True(t, s.report(readiness.Observed{State: shared.StateReady, Reason: "UnreachableNetwork", Message: "cut"}, false).Changed)
	require.Equal(t, metav1.ConditionTrue, s.condition(shared.ConditionInstallation), "nothing was read, so the last state remains")
	require.Equal(t, before.Status.Inventory, s.read().Status.Inventory)
	s.delete()
	_, err = s.activities.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: kick.RefOf(s.manifest)})
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
	require.NotEmpty(t, s.read().Finalizers)
}

func TestADeletionStopsAnInstallationBetweenStages(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	manifest := s.manifest.DeepCopy()
	var once sync.Once
	s.requests.intercept(func(req *http.Request) error {
		var err error
		if strings.Contains(req.URL.Path, "/serviceaccounts/") {
			once.Do(func() { err = s.control.Delete(context.Background(), manifest) })
		}
		return err
	})
	require.Equal(t, manifests.OutcomeDeleting, s.apply().Outcome)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	s.removed() // the inventory was written before anything was applied
	require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"))
}

func TestForeignFinalizersAreNamed(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.update(func(m *v1beta2.Manifest) { m.Finalizers = append(m.Finalizers, "example.com/other") })
	s.delete()
	s.kicks.take()
	require.Eventually(t, func() bool { return s.remove(readiness.Observed{}).Outcome == manifests.OutcomeRemoved }, time.Minute, pollEvery)
	require.Contains(t, s.kicks.take(), "Manifest is Deleting", "the Kyma learns of it, as the Manifest is not reconciled again")
	m := s.read()
	require.Equal(t, []string{"example.com/other"}, m.Finalizers)
	require.Equal(t, "waiting as other finalizers are present: [example.com/other]", m.Status.LastOperation.Operation)
}

// pick returns the objects of a list with the given fields only.
func pick(list []any, fields ...string) []any {
	var picked []any
	for _, item := range list {
		content, _ := item.(map[string]any)
		kept := map[string]any{}
		for _, field := range fields {
			kept[field] = content[field]
		}
		picked = append(picked, kept)
	}
	return picked
}
