package lifecycle

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// deleteKyma deletes the Kyma, and with it the Manifest.
func (s *environment) deleteKyma() {
	s.Helper()
	require.NoError(s, s.control.Delete(context.Background(), &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "kyma"}}))
	require.NoError(s, client.IgnoreNotFound(s.control.Delete(context.Background(), s.manifest)))
}

func (s *environment) purge(abandon bool) purge.Result {
	s.Helper()
	result, err := s.activities.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(s.manifest), Abandon: abandon})
	require.NoError(s, err)
	return result
}

// hold gives an object in the remote cluster finalizers that no controller removes.
func (s *environment) hold(apiVersion, kind, namespace, name string, finalizers ...string) {
	s.Helper()
	held := s.get(apiVersion, kind, namespace, name)
	require.NotNil(s, held)
	held.SetFinalizers(finalizers)
	require.NoError(s, s.remote.Update(context.Background(), held))
}

// events are the Events on the Kyma.
func (s *environment) events() []string {
	s.Helper()
	var list corev1.EventList
	require.NoError(s, s.control.List(context.Background(), &list, client.InNamespace(s.id)))
	var all []string
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "Kyma" {
			all = append(all, e.Reason+": "+strings.ReplaceAll(e.Message, s.id, "ID"))
		}
	}
	return all
}

func (s *environment) manifestIsGone() bool {
	s.Helper()
	err := s.control.Get(context.Background(), client.ObjectKeyFromObject(s.manifest), &v1beta2.Manifest{})
	return client.IgnoreNotFound(err) == nil && err != nil
}

func TestAPurgeRemovesAModuleThatFinalizersHold(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	ctx := context.Background()
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default", "example.com/nobody", "example.com/neither")
	require.NoError(t, s.remote.Create(ctx, s.sample("mine")))
	s.hold("v1", "ConfigMap", "ID-remote", "settings", "example.com/nobody", shared.FinalizerPurge)
	s.deleteKyma()
	require.Equal(t, manifests.OutcomeWaiting, s.remove(readiness.Observed{}).Outcome)
	s.kicks.take()

	result := s.purge(false)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	remote := s.id + "-remote/"
	require.Equal(t, []string{"ConfigMap " + remote + "settings", "Sample " + remote + "default", "Sample " + remote + "mine"}, result.Names)
	require.Equal(t, 3, result.Forced)
	require.Empty(t, result.Stays)
	require.Empty(t, result.Unreached)
	require.True(t, s.manifestIsGone())
	require.ElementsMatch(t, []string{
		"Purged: Sample ID-remote/default in the remote cluster loses its finalizers example.com/nobody, example.com/neither",
		"Purged: Sample ID-remote/mine in the remote cluster is deleted",
		"Purged: ConfigMap ID-remote/settings in the remote cluster loses its finalizers example.com/nobody, operator.kyma-project.io/purge-finalizer",
	}, s.events())
	require.Eventually(t, func() bool {
		return s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com") == nil
	}, time.Minute, 100*time.Millisecond)
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
	require.Nil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRole", "", "ID-operator"))
	require.Equal(t, manifests.OutcomeGone, s.purge(true).Outcome, "it is safe to repeat")
}

func TestAPurgeNeverRemovesAProtectedFinalizer(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.activities.Purge.Options.PurgeRules = purge.Rules{Never: []string{"example.com/never"}}
	s.installReady()
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default", "example.com/nobody", "example.com/never")
	s.deleteKyma()
	result := s.purge(false)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	require.True(t, s.manifestIsGone(), "the Manifest is released nevertheless")
	require.Contains(t, result.Stays, "Sample "+s.id+"-remote/default has finalizers that are never removed: [example.com/never]")
	held := s.get("ID.example.com/v1", "Sample", "ID-remote", "default")
	require.NotNil(t, held)
	require.Equal(t, []string{"example.com/never"}, held.GetFinalizers())
	require.False(t, held.GetDeletionTimestamp().IsZero())
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default")
}

func TestAPurgeHandsOverWhatAnotherKymaInTheSameClusterUses(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	ctx := context.Background()
	using := s.otherKyma(s.manifest.Spec)
	for _, e := range s.read().Status.Inventory {
		if strings.Contains(e.ID, "CustomResourceDefinition") || strings.Contains(e.ID, "ConfigMap") {
			using.Status.Inventory = append(using.Status.Inventory, e)
		}
	}
	require.Len(t, using.Status.Inventory, 2)
	require.NoError(t, s.control.Status().Update(ctx, using))
	require.NoError(t, s.remote.Create(ctx, s.sample("of-another")))
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default", "example.com/nobody")
	s.deleteKyma()

	result := s.purge(false)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	require.Equal(t, []string{"Sample " + s.id + "-remote/default"}, result.Names)
	require.Len(t, result.Stays, 2)
	require.True(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com").GetDeletionTimestamp().IsZero())
	require.True(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "of-another").GetDeletionTimestamp().IsZero())
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "settings"))
	require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"), "our own custom resource is removed")
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
}

// When an operator is down, so are its webhooks, and then nobody can change its custom resources.
func TestAPurgeGetsPastTheWebhooksOfADeadOperator(t *testing.T) {
	testfleet.NeedsRealRemote(t, "asking webhooks")
	const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ID-samples}
webhooks:
- name: samples.ID.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: nobody, namespace: ID-remote, path: /validate}}
  rules: [{apiGroups: ["ID.example.com"], apiVersions: ["*"], operations: [UPDATE, DELETE], resources: ["*"]}]
---
`
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default", "example.com/nobody")
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source = s.layer(moduleYAML + webhook) })
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Eventually(t, func() bool {
		return s.remote.Delete(context.Background(), s.sample("default"), client.DryRunAll) != nil
	}, time.Minute, 50*time.Millisecond, "the webhook is called")
	s.deleteKyma()
	require.Eventually(t, func() bool {
		// The server drops a webhook only a moment after its deletion; the step is retried.
		result, err := s.activities.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(s.manifest)})
		return err == nil && result.Outcome == manifests.OutcomeRemoved
	}, time.Minute, time.Second)
	require.Nil(t, s.get("ID.example.com/v1", "Sample", "ID-remote", "default"))
}

func TestAPurgeAbandonsALostClusterOnlyOnRequestAndReportsWhatRemains(t *testing.T) {
	for name, lose := range map[string]func(s *environment){
		"nobody answers": func(s *environment) { s.requests.intercept(func(*http.Request) error { return errors.New("cut") }) },
		"the access Secret is gone": func(s *environment) {
			require.NoError(s, s.control.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: s.id}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnvironment(t, moduleYAML, withDefaultCR)
			s.installReady()
			s.update(func(m *v1beta2.Manifest) { m.Finalizers = append(m.Finalizers, "example.com/other") })
			lose(s)
			s.deleteKyma()
			_, err := s.activities.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(s.manifest)})
			require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
			require.False(t, s.manifestIsGone())

			result := s.purge(true)
			require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
			require.Contains(t, result.Unreached, "are left there")
			require.True(t, s.manifestIsGone())
			require.Len(t, s.events(), 2)
			require.Contains(t, strings.Join(s.events(), "\n"), "PurgeAbandoned: the objects of Manifest ID/ID-sample could not be removed from its cluster and are left there")
			require.Contains(t, strings.Join(s.events(), "\n"), "Purged: Manifest ID/ID-sample in the control plane loses its finalizers example.com/other")
		})
	}
}

func TestAManifestWhoseKymaStaysIsNotPurged(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	require.Equal(t, manifests.OutcomeApplied, s.purge(true).Outcome, "it is not being deleted")
	s.delete()
	require.Equal(t, manifests.OutcomeApplied, s.purge(true).Outcome, "only its Manifest is being deleted")
	require.NotNil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	require.Empty(t, s.events())
}
