package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// by patches an object of the remote cluster under the name of a manager.
func (s *environment) by(manager string, u *unstructured.Unstructured, change string) {
	s.Helper()
	require.NotNil(s, u)
	require.NoError(s, s.remote.Patch(context.Background(), u, client.RawPatch(types.MergePatchType, []byte(change)), client.FieldOwner(manager)))
}

func (s *environment) settings() *unstructured.Unstructured {
	return s.get("v1", "ConfigMap", "ID-remote", "settings")
}

func TestUnchangedModulesCostOneListPerKindForAllOfThem(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	first := s.cached()
	other := s.manifest.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: s.id, Name: s.id + "-other", Labels: s.manifest.Labels, OwnerReferences: s.manifest.OwnerReferences}
	other.Status, other.Spec.Resource = v1beta2.ManifestStatus{}, nil
	other.Spec.Install.Source = s.layer(`
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: v1
kind: Service
metadata: {name: other}
spec: {ports: [{port: 443, name: b}, {port: 80, name: a}]}
`)
	s.create(other)
	s.manifest = other
	s.installReady()

	s.requests.take()
	differing, err := s.activities.Drift.Probe(context.Background(), []*v1beta2.Manifest{first, s.cached()}, 0)
	require.NoError(t, err)
	require.Empty(t, differing)
	requests := s.requests.take()
	require.Len(t, requests, 7+1, "kinds of both modules, and one custom resource: %v", requests)
	require.Empty(t, writes(requests))
}

func TestDriftIsDetectedAndCorrectedInOneReconcile(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	installed := s.read()
	const kinds = 6
	for _, drift := range []struct {
		what, message string
		does          func()
	}{
		{"edited", ".data.key by kubectl-edit", func() { s.by("kubectl-edit", s.settings(), `{"data":{"key":"edited"}}`) }},
		{"cut", ".data.key by somebody", func() { s.by("kubectl-edit", s.settings(), `{"data":{"key":null}}`) }},
		{"deleted", "had been deleted", func() { require.NoError(t, s.remote.Delete(context.Background(), s.settings())) }},
		{"unlabelled", "had lost our labels", func() {
			s.by("x", s.settings(), `{"metadata":{"labels":{"operator.kyma-project.io/managed-by":null}}}`)
		}},
		{"relabelled", "ConfigMap", func() {
			s.by("x", s.settings(), `{"metadata":{"labels":{"app.kubernetes.io/component":"other"}}}`)
		}},
		{"re-owned", "by thief", func() {
			s.by("thief", s.settings(), `{"metadata":{"annotations":{"operator.kyma-project.io/owned-by":"a/b"}}}`)
		}},
		{"forgotten", "ConfigMap", func() { s.by("x", s.settings(), `{"metadata":{"managedFields":[{}]}}`) }},
	} {
		drift.does()
		how, requests := s.differs()
		require.Equal(t, "the module's resources drifted", how, drift.what)
		require.Len(t, requests, kinds+1, drift.what)
		s.recorded.take()

		result := s.apply()
		require.True(t, result.Judged, drift.what)
		require.Equal(t, shared.StateReady, result.Observed.State, drift.what)
		requests = s.requests.take()
		require.LessOrEqual(t, len(requests), kinds+2, "%s: %v", drift.what, requests)
		require.Len(t, writes(requests), 1, drift.what)
		m := s.read()
		require.Equal(t, shared.StateReady, m.Status.State, drift.what)
		require.True(t, m.Status.Settled, drift.what)
		if drift.what != "deleted" {
			require.Equal(t, installed.Status.Fingerprint, m.Status.Fingerprint, drift.what)
		}
		if drift.what == "unlabelled" {
			require.Equal(t, ".metadata.labels", m.Status.Corrections[0].Field, "it is counted, so that it is backed off")
		}
		events, corrected := s.recorded.take()
		require.Equal(t, 1, corrected, drift.what)
		require.Contains(t, events[0], "Normal *v1beta2.Manifest DriftCorrected: 1 of the module's objects corrected: ConfigMap", drift.what)
		require.Contains(t, events[0], drift.message, drift.what)
		require.Len(t, events, 1)
		require.Empty(t, s.kicks.take(), "nothing that the Kyma shows has changed")

		value, _, _ := unstructured.NestedString(s.settings().Object, "data", "key")
		require.Equal(t, "value", value, drift.what)
		how, _ = s.differs()
		require.Empty(t, how, drift.what)
		installed = m
		// Earlier corrections are not tested here.
		m.Status.Corrections = nil
		require.NoError(t, s.control.Status().Update(context.Background(), m))
	}
}

func TestAWaitFollowsTheDriftCorrectionOfAWorkload(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	s.by("kubectl-edit", s.get("apps/v1", "Deployment", "ID-remote", "operator"), `{"spec":{"minReadySeconds":1}}`)
	how := ""
	require.Eventually(t, func() bool {
		how, _ = s.differs()
		return how == ""
	}, time.Minute, 50*time.Millisecond, "what is not ours may be set, once the Deployment's controller has seen it")
	require.NoError(t, s.remote.Delete(context.Background(), s.get("apps/v1", "Deployment", "ID-remote", "operator")))
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how)
	result := s.apply()
	require.False(t, result.Judged)
	require.Equal(t, shared.StateReady, s.read().Status.State, "its state stays until another one is read")
	s.report(s.ready(s.settle(result)), true)
	how, _ = s.differs()
	require.Empty(t, how)
}

func TestObjectsThatAreDeletedDuringAWaitAreRecreated(t *testing.T) {
	s := newEnvironment(t, moduleYAML+heldYAML, nil)
	held := func() *unstructured.Unstructured { return s.get("ID.example.com/v1", "Sample", "ID-remote", "held") }
	seen := s.apply().Observed
	unready := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Broken","message":"broken"}]}}`
	require.NoError(t, s.remote.Status().Patch(context.Background(), s.sample("held"), client.RawPatch(types.MergePatchType, []byte(unready))))
	require.Eventually(t, func() bool {
		seen = s.wait(readiness.Observed{})
		return seen.Message == "waiting for Sample "+s.id+"-remote/held to become ready"
	}, time.Minute, 50*time.Millisecond, seen.Message)
	before := held().GetUID()

	require.NoError(t, s.remote.Delete(context.Background(), held()))
	require.NoError(t, s.remote.Delete(context.Background(), s.get("apps/v1", "Deployment", "ID-remote", "operator")))
	require.Eventually(t, func() bool {
		seen = s.wait(seen)
		return seen.Message == "missing, will be created again: Deployment "+s.id+"-remote/operator, Sample "+s.id+"-remote/held"
	}, time.Minute, 50*time.Millisecond, seen.Message)
	require.Equal(t, shared.StateProcessing, seen.State)
	require.Equal(t, readiness.ReasonResourcesMissing, seen.Reason)
	require.Less(t, seen.Ready, seen.Total)

	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.NotEqual(t, before, held().GetUID())
	require.Equal(t, shared.StateReady, s.ready(seen).State)
}

func TestDriftOfAModuleThatStaysInErrorIsCorrected(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	seen := s.install()
	s.setState("default", "Error")
	for seen.State != shared.StateError {
		seen = s.wait(seen)
	}
	s.report(seen, false)
	how, _ := s.differs()
	require.Empty(t, how, "that it is in error is no drift")

	s.by("kubectl-edit", s.settings(), `{"data":{"key":"edited"}}`)
	stale := s.cached()
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	value, _, _ := unstructured.NestedString(s.settings().Object, "data", "key")
	require.Equal(t, "value", value)
	events, _ := s.recorded.take()
	require.Contains(t, events[len(events)-1], "DriftCorrected")
	require.Equal(t, shared.StateError, s.read().Status.State)
	how, _ = s.differs()
	require.Empty(t, how)

	s.by("kubectl-edit", s.settings(), `{"data":{"key":"edited"}}`)
	s.report(readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesPending, Message: "waiting for another"}, false)
	differing, err := s.activities.Drift.Probe(context.Background(), []*v1beta2.Manifest{stale}, 0)
	require.NoError(t, err)
	require.Empty(t, differing, "the live Manifest says that something happened since")
}

func TestDriftThatWaitsForARegistryIsShown(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.restart() // so that no layer is in memory
	s.lost.Store(true)
	s.by("kubectl-edit", s.settings(), `{"data":{"key":"edited"}}`)
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateWarning, result.Observed.State)
	require.Contains(t, result.Observed.Message, "changed: ConfigMap "+s.settings().GetNamespace()+"/"+s.settings().GetName()+"; the repair waits for the registry: ")
	s.report(result.Observed, false)
	require.NoError(t, s.remote.Delete(context.Background(), s.settings()))
	result = s.apply()
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Contains(t, result.Observed.Message, "missing: ConfigMap")
	s.report(result.Observed, false)
	require.Equal(t, artifacts.ReasonLayerNotFound, s.read().Status.LastOperation.Reason)

	s.lost.Store(false)
	s.installReady()
	require.Equal(t, shared.StateReady, s.read().Status.State)
	require.NotNil(t, s.settings())
}

func TestAnObjectThatIsNoLongerReadyIsDetected(t *testing.T) {
	s := newEnvironment(t, moduleYAML+heldYAML, nil)
	s.installReady()
	held := s.sample("held")
	unready := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Broken","message":"broken"}]}}`
	require.NoError(t, s.remote.Status().Patch(context.Background(), held, client.RawPatch(types.MergePatchType, []byte(unready))))
	how, _ := s.differs()
	require.Equal(t, "the module changed its state", how)
	result := s.apply()
	require.False(t, result.Judged, "only a wait may report it")
	require.Equal(t, shared.StateProcessing, s.wait(readiness.Observed{State: shared.StateReady}).State)
}

func TestTheReplicasThatAnAutoscalerSetsAreIgnored(t *testing.T) {
	s := newEnvironment(t, strings.Replace(operatorYAML, "replicas: 0", "replicas: 1", 1), nil)
	s.installReady()
	deployment := s.get("apps/v1", "Deployment", "ID-remote", "operator")
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: deployment.GetNamespace(), Name: "of-the-owner"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "operator"}, MinReplicas: new(int32(1)), MaxReplicas: 9,
		},
	}
	require.NoError(t, s.remote.Create(context.Background(), autoscaler))
	for replicas := range 3 {
		scaled := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+string(rune('2'+replicas))+`}}`))
		require.NoError(t, s.remote.SubResource("scale").Patch(context.Background(), deployment, scaled, client.FieldOwner("kube-controller-manager")))
		how, _ := s.differs()
		if replicas > 0 {
			require.NotEqual(t, "the module's resources drifted", how, "it is ignored from then on")
		}
		result := s.apply()
		live, _, _ := unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "spec", "replicas")
		require.EqualValues(t, 2+replicas, live)
		s.report(s.ready(s.settle(result)), true)
	}
	events, corrected := s.recorded.take()
	require.Empty(t, events)
	require.Zero(t, corrected)

	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.layer(strings.Replace(operatorYAML, "replicas: 0", "replicas: 7", 1))
	})
	s.report(s.ready(s.settle(s.apply())), true)
	live, _, _ := unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "spec", "replicas")
	require.EqualValues(t, 4, live, "nor by an upgrade")

	require.NoError(t, s.remote.Delete(context.Background(), autoscaler))
	s.apply()
	live, _, _ = unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", "operator").Object, "spec", "replicas")
	require.EqualValues(t, 7, live, "without the autoscaler the number is the module's")
}

func TestAWorkloadThatIsScaledToNothingIsNotReadyAndPutBack(t *testing.T) {
	s := newEnvironment(t, strings.Replace(operatorYAML, "replicas: 0", "replicas: 1", 1)+`
apiVersion: apps/v1
kind: Deployment
metadata: {name: unnumbered}
spec:
  selector: {matchLabels: {app: unnumbered}}
  template:
    metadata: {labels: {app: unnumbered}}
    spec: {containers: [{name: a, image: "example.com/a:1.0.0"}]}
---
`, nil)
	s.installReady()
	replicas := func(name string) int64 {
		live, _, _ := unstructured.NestedInt64(s.get("apps/v1", "Deployment", "ID-remote", name).Object, "spec", "replicas")
		return live
	}
	scale := func(name string, n string) {
		scaled := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+n+`}}`))
		require.NoError(t, s.remote.SubResource("scale").Patch(context.Background(), s.get("apps/v1", "Deployment", "ID-remote", name), scaled, client.FieldOwner("kubectl")))
	}
	observe := func(part string) readiness.Observed {
		var seen readiness.Observed
		require.Eventually(t, func() bool {
			var err error
			seen, err = s.activities.Install.Observe(context.Background(), s.ref())
			require.NoError(t, err)
			return strings.Contains(seen.Message, part)
		}, time.Minute, 100*time.Millisecond, "%+v", &seen)
		return seen
	}
	// A scale of 0 is an empty field, so the API server notes no manager for it.
	for n := range 3 {
		scale("operator", "0")
		require.NotEqual(t, shared.StateReady, observe("Deployment "+s.id+"-remote/operator (scaled to 0 by somebody)").State)
		how, _ := s.differs()
		require.Equal(t, "the module's resources drifted", how)
		s.recorded.take()
		s.apply()
		require.EqualValues(t, 1, replicas("operator"))
		events, _ := s.recorded.take()
		require.Contains(t, events[0], "DriftCorrected")
		require.Contains(t, events[0], ".spec.replicas by somebody")
		require.EqualValues(t, n+1, s.read().Status.Corrections[0].Times)
	}
	scale("operator", "0")
	require.Contains(t, observe("scaled to 0 by somebody").Message, "; somebody keeps changing .spec.replicas of Deployment "+s.id+"-remote/operator: it is corrected again no earlier than ")
	s.later = 5 * time.Minute
	s.apply()
	require.EqualValues(t, 1, replicas("operator"), "it is put back minutes later")

	scale("unnumbered", "0")
	require.NotEqual(t, shared.StateReady, observe("Deployment "+s.id+"-remote/unnumbered (scaled to 0 by somebody)").State)
	scale("unnumbered", "2")
	s.apply()
	require.EqualValues(t, 2, replicas("unnumbered"), "the module names no number")
}

func TestAnObjectThatIsDeletedAgainAndAgainIsShownAndBackedOff(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	gone := func() { require.NoError(t, s.remote.Delete(context.Background(), s.settings())) }
	for range 3 {
		gone()
		s.apply()
		require.NotNil(t, s.settings())
	}
	m := s.read()
	require.Equal(t, shared.StateWarning, m.Status.State)
	require.Contains(t, m.Status.LastOperation.Operation, "somebody keeps deleting ConfigMap "+s.id+"-remote/settings: it is created again no earlier than ")
	events, _ := s.recorded.take()
	require.Contains(t, events[len(events)-1], "Warning *v1beta2.Manifest DriftConflict: somebody keeps deleting ConfigMap")
	gone()
	how, _ := s.differs()
	require.Empty(t, how, "it is not created again at once")
	s.apply()
	require.Nil(t, s.settings())
	require.Equal(t, shared.StateWarning, s.read().Status.State)

	s.later = 5 * time.Minute
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how)
	s.apply()
	require.NotNil(t, s.settings())
	require.EqualValues(t, 4, s.read().Status.Corrections[0].Times)
	s.later = 14 * time.Minute
	how, _ = s.differs()
	require.Equal(t, "a field ownership conflict has ended", how)
	require.Equal(t, shared.StateReady, s.apply().Observed.State)
	how, _ = s.differs()
	require.Empty(t, how)

	held := s.settings()
	held.SetFinalizers([]string{"example.com/hold"})
	require.NoError(t, s.remote.Update(context.Background(), held))
	gone()
	how, _ = s.differs()
	require.Equal(t, "the module changed its state", how)
	s.apply()
	m = s.read()
	require.Equal(t, shared.StateWarning, m.Status.State)
	require.Equal(t, "ConfigMap "+s.id+"-remote/settings is being deleted and waits for its finalizer example.com/hold: it is created again after that", m.Status.LastOperation.Operation)
	how, _ = s.differs()
	require.Empty(t, how, "it is said already")
	s.by("x", s.settings(), `{"metadata":{"finalizers":null}}`)
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how)
	s.apply()
	require.Nil(t, s.settings().GetDeletionTimestamp())
}

func TestAnInjectedCABundleIsIgnored(t *testing.T) {
	s := newEnvironment(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ID.example.com}
webhooks:
- name: w.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {caBundle: Cg==, service: {namespace: ID, name: none}}
  rules: [{apiGroups: [ID.example.com], apiVersions: ["*"], operations: [CREATE], resources: [nothing]}]
`, nil)
	s.installReady()
	webhook := s.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "ID.example.com")
	t.Cleanup(func() { _ = s.remote.Delete(context.Background(), webhook) })
	inject := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"`+testCertificate(t)+`"}]`))
	require.NoError(t, s.remote.Patch(context.Background(), webhook, inject, client.FieldOwner("cert-manager-cainjector")))
	for range 3 {
		how, _ := s.differs()
		require.Empty(t, how)
		require.True(t, s.apply().Judged)
		require.Empty(t, writes(s.requests.take()))
	}
}

func TestAFieldOwnershipConflictIsAWarningThatEndsMinutesLater(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	edit := func() { s.by("argocd", s.settings(), `{"data":{"key":"theirs"}}`) }
	value := func() string {
		text, _, _ := unstructured.NestedString(s.settings().Object, "data", "key")
		return text
	}
	conflict := func() v1beta2.Correction {
		for _, c := range s.read().Status.Corrections {
			if c.Field != "" {
				return c
			}
		}
		return v1beta2.Correction{}
	}
	for n := range 3 {
		edit()
		s.recorded.take()
		result := s.apply()
		require.Equal(t, "value", value())
		require.EqualValues(t, n+1, s.read().Status.Corrections[0].Times)
		if n < 2 {
			require.Equal(t, shared.StateReady, result.Observed.State)
		}
	}
	m := s.read()
	require.Equal(t, shared.StateWarning, m.Status.State)
	require.Contains(t, m.Status.LastOperation.Operation, "argocd keeps changing .data.key of ConfigMap "+s.id+"-remote/settings")
	require.Equal(t, []string{"Manifest is Warning"}, s.kicks.take())
	events, _ := s.recorded.take()
	require.Contains(t, events[1], "Warning *v1beta2.Manifest DriftConflict: argocd keeps changing .data.key")
	how, _ := s.differs()
	require.Empty(t, how)

	edit()
	how, _ = s.differs()
	require.Empty(t, how, "it is ignored for a while")
	require.True(t, s.apply().Judged)
	require.Equal(t, "theirs", value())
	require.Equal(t, shared.StateWarning, s.read().Status.State)

	require.NoError(t, s.remote.Delete(context.Background(), s.settings()))
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how, "what is deleted is recreated each time")
	s.apply()
	require.Equal(t, "value", value())
	require.Equal(t, shared.StateWarning, s.read().Status.State)
	require.EqualValues(t, 3, conflict().Times, "a deletion is no part of the conflict")
	edit()
	how, _ = s.differs()
	require.Empty(t, how, "it is still ignored")

	s.later = 5 * time.Minute
	how, _ = s.differs()
	require.Equal(t, "the module's resources drifted", how)
	s.apply()
	require.Equal(t, "value", value(), "the other side was silent for a while")
	require.EqualValues(t, 4, conflict().Times)
	require.Equal(t, shared.StateWarning, s.read().Status.State)

	s.later = 14 * time.Minute
	how, _ = s.differs()
	require.Equal(t, "a field ownership conflict has ended", how)
	require.Equal(t, shared.StateReady, s.apply().Observed.State)
	m = s.read()
	require.Equal(t, shared.StateReady, m.Status.State)
	require.True(t, conflict().Over)
	how, _ = s.differs()
	require.Empty(t, how)

	edit()
	s.apply()
	require.Equal(t, "value", value())
	require.EqualValues(t, 5, conflict().Times)
	require.Equal(t, shared.StateWarning, s.read().Status.State)
	edit()
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(strings.ReplaceAll(operatorYAML, "key: value", "key: other"))
	})
	s.report(s.ready(s.settle(s.apply())), true)
	require.Equal(t, "other", value())
	require.Empty(t, s.read().Status.Corrections, "an upgrade that puts it right ends the conflict")
	require.Equal(t, shared.StateReady, s.read().Status.State)
}

func TestAnUnknownObjectWithOurMarkIsReportedAndUnchanged(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	s.recorded.take()
	copied := s.settings()
	copied.SetName("copied")
	copied.SetResourceVersion("")
	copied.SetUID("")
	copied.SetManagedFields(nil)
	require.NoError(t, s.remote.Create(context.Background(), copied))
	for range 2 {
		how, _ := s.differs()
		require.Empty(t, how)
	}
	events, _ := s.recorded.take()
	require.Equal(t, []string{"Warning *v1beta2.Manifest UnknownObject: objects with this module's mark that the module did not create; they are left alone: ConfigMap " + s.id + "-remote/copied"}, events)
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "copied"))
}

func TestAnUpgradeAppliesOnlyWhatChanged(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Version = "1.1.0"
		m.Spec.Install.Source = s.layer(strings.ReplaceAll(moduleYAML, "key: value", "key: other"))
	})
	s.requests.take()
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	requests := s.requests.take()
	require.Equal(t, []string{"PATCH /api/v1/namespaces/" + s.id + "-remote/configmaps/settings"}, writes(requests))
	require.LessOrEqual(t, len(requests), 6+1+1, "kinds, what changed, and the stored versions of definitions: %v", requests)
	_, corrected := s.recorded.take()
	require.Zero(t, corrected, "an upgrade is no correction")
	require.False(t, s.read().Status.Settled)
}

func TestNothingIsComparedWhileAManifestIsReconciled(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	stale := s.cached()
	s.by("kubectl-edit", s.settings(), `{"data":{"key":"edited"}}`)
	s.update(func(m *v1beta2.Manifest) { m.Spec.Version = "1.1.0" })
	differing, err := s.activities.Drift.Probe(context.Background(), []*v1beta2.Manifest{stale}, 0)
	require.NoError(t, err)
	require.Empty(t, differing, "the live Manifest says that it has yet to be reconciled")
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
}
