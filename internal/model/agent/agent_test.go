package agent_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func watcher(namespace, name string, change func(*v1beta2.Watcher)) v1beta2.Watcher {
	w := v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta2.WatcherSpec{
			Manager: "lifecycle-manager", Field: v1beta2.WatchedFieldSpec,
			ResourceToWatch: v1beta2.WatchableGVR{Group: "operator.kyma-project.io", Version: "*", Resource: "kymas"},
			LabelsToWatch:   map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma},
		},
	}
	if change != nil {
		change(&w)
	}
	return w
}

func specOf(watchers ...v1beta2.Watcher) agent.Spec {
	return agent.Spec{
		Image: "registry.example/agent:1.2.3", MemoryLimit: "200Mi", CPULimit: "0.1", Listener: "listener.example:8443", Authorities: "PEM",
		Watches: agent.WatchesOf(desired.Settings{}, watchers),
	}
}

func objectsOf(t *testing.T, w agent.Spec) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := w.Objects("kyma-system")
	require.NoError(t, err)
	all := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		all[o.GetKind()+" "+o.GetName()] = o
	}
	require.Len(t, all, len(objects))
	return all
}

func decode[T any](t *testing.T, u *unstructured.Unstructured) T {
	t.Helper()
	require.NotNil(t, u)
	var typed T
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &typed, true))
	return typed
}

func TestTheAgentHasTheObjectsThatTheContractNames(t *testing.T) {
	objects := objectsOf(t, specOf(watcher("kcp-system", "kyma", nil)))
	require.ElementsMatch(t, []string{
		"Deployment skr-webhook", "Service skr-webhook", "Service skr-webhook-metrics", "PriorityClass skr-webhook-priority",
		"ValidatingWebhookConfiguration skr-webhook", "NetworkPolicy kyma-project.io--seed-to-watcher",
		"NetworkPolicy kyma-project.io--metrics-to-watcher", "NetworkPolicy kyma-project.io--watcher-to-apiserver",
		"NetworkPolicy kyma-project.io--watcher-to-dns",
	}, slices.Collect(maps.Keys(objects)))
	for name, o := range objects {
		require.NotEmpty(t, reserved.Object(o.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}),
			"%s is reserved for the agent", name)
	}
	require.EqualValues(t, 1000000000, decode[schedulingv1.PriorityClass](t, objects["PriorityClass skr-webhook-priority"]).Value,
		"must equal upstream's value, because the value of an existing PriorityClass cannot change")
	service := decode[corev1.Service](t, objects["Service skr-webhook"])
	require.EqualValues(t, 443, service.Spec.Ports[0].Port)
	deployment := decode[appsv1.Deployment](t, objects["Deployment skr-webhook"])
	container := deployment.Spec.Template.Spec.Containers[0]
	require.Equal(t, "registry.example/agent:1.2.3", container.Image)
	require.Contains(t, container.Env, corev1.EnvVar{Name: "KCP_ADDR", Value: "listener.example:8443"})
	require.Equal(t, "200Mi", container.Resources.Limits.Memory().String())
	require.Equal(t, service.Spec.Ports[0].TargetPort.StrVal, container.Ports[0].Name)
	require.EqualValues(t, 8443, container.Ports[0].ContainerPort)
	require.Equal(t, service.Spec.Selector, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, "default", deployment.Spec.Template.Spec.ServiceAccountName, "replaces the account that upstream's Deployment names")
	require.Equal(t, shared.AgentSecret, deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName)
	for _, o := range objects {
		require.NotContains(t, o.Object, "status", "only the cluster sets the status")
	}
}

func TestTheAgentAllowsOnlyFIPSIfItsInstanceUsesFIPS(t *testing.T) {
	godebug := func(w agent.Spec) []string {
		var all []string
		for _, variable := range decode[appsv1.Deployment](t, objectsOf(t, w)["Deployment skr-webhook"]).Spec.Template.Spec.Containers[0].Env {
			if variable.Name == "GODEBUG" {
				all = append(all, variable.Value)
			}
		}
		return all
	}
	without, with := specOf(), specOf()
	with.FIPS = true
	require.Empty(t, godebug(without))
	require.NotContains(t, without.Encode(), "fips", "without FIPS the encoding is the same as before this field existed")
	require.Equal(t, []string{"fips140=only,tlsmlkem=0"}, godebug(with))
	require.NotEqual(t, without.Version(), with.Version(), "a different version makes the Deployment change")
}

func TestEachWatcherHasAWebhookThatNeverRefuses(t *testing.T) {
	configuration := decode[admissionv1.ValidatingWebhookConfiguration](t, objectsOf(t, specOf(
		watcher("kcp-system", "kyma", nil),
		watcher("other", "modules", func(w *v1beta2.Watcher) {
			w.Spec.Manager, w.Labels = "", map[string]string{shared.LabelManagedBy: "lifecycle-manager"}
			w.Spec.Field, w.Spec.ResourceToWatch.Resource = v1beta2.WatchedFieldStatus, "samples"
		}),
		watcher("other", "going", func(w *v1beta2.Watcher) { w.DeletionTimestamp = &metav1.Time{Time: time.Now()} }),
		watcher("other", "of-another-instance", func(w *v1beta2.Watcher) { w.Labels = map[string]string{shared.LabelManagedBy: "else"} }),
	))["ValidatingWebhookConfiguration skr-webhook"])
	require.Len(t, configuration.Webhooks, 2)
	require.Equal(t, "kcp-system.kyma.operator.kyma-project.io", configuration.Webhooks[0].Name)
	require.Equal(t, []string{"kymas"}, configuration.Webhooks[0].Rules[0].Resources)
	require.Equal(t, "other.modules.operator.kyma-project.io", configuration.Webhooks[1].Name)
	require.Equal(t, []string{"samples/status"}, configuration.Webhooks[1].Rules[0].Resources)
	for _, webhook := range configuration.Webhooks {
		require.Equal(t, admissionv1.Ignore, *webhook.FailurePolicy)
		require.Equal(t, "/validate/lifecycle-manager", *webhook.ClientConfig.Service.Path)
		require.Equal(t, "kyma-system", webhook.ClientConfig.Service.Namespace)
		require.Equal(t, "PEM", string(webhook.ClientConfig.CABundle))
		require.Equal(t, map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma}, webhook.ObjectSelector.MatchLabels)
		require.ElementsMatch(t, []admissionv1.OperationType{"CREATE", "UPDATE", "DELETE"}, webhook.Rules[0].Operations)
	}
}

func TestTheAgentStaysWithoutWebhooksAfterTheLastWatcherIsDeleted(t *testing.T) {
	configuration := decode[admissionv1.ValidatingWebhookConfiguration](t, objectsOf(t, specOf())["ValidatingWebhookConfiguration skr-webhook"])
	require.Empty(t, configuration.Webhooks)
}

func TestALimitThatIsNotAQuantityIsRejected(t *testing.T) {
	w := specOf()
	w.MemoryLimit = "a lot"
	_, err := w.Objects("kyma-system")
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.ErrorContains(t, err, `"a lot" is not a quantity`)
	w.MemoryLimit = "16Mi"
	deployment := decode[appsv1.Deployment](t, objectsOf(t, w)["Deployment skr-webhook"])
	require.Equal(t, "16Mi", deployment.Spec.Template.Spec.Containers[0].Resources.Requests.Memory().String(), "the request must not exceed the limit")
}

func TestTheManifestOfAnAgentHasItsSpec(t *testing.T) {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "one", UID: "1"}}
	w := specOf(watcher("kcp-system", "kyma", nil))
	m := agent.NewManifest(kyma, metav1.OwnerReference{UID: "1"}, desired.Settings{ImagePullSecret: "pull"}.WithDefaults(), desired.Sync{Namespace: "kyma-system"}, w)
	require.True(t, desired.IsAgent(m))
	require.False(t, m.IsMandatory(), "the agent is not a module")
	require.Equal(t, "1.2.3", m.Spec.Version)
	require.Equal(t, "pull", m.Annotations[desired.AnnotationImagePullSecret])
	read, ok, err := agent.Of(m)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, w, read)

	m.Annotations[desired.AnnotationAgent] = "{"
	_, _, err = agent.Of(m)
	require.Equal(t, agent.ReasonInvalidSpec, fault.Of(err).Reason)
	_, ok, err = agent.Of(&v1beta2.Manifest{})
	require.NoError(t, err)
	require.False(t, ok)
}

func TestTheVersionIsTheTagOrTheDigest(t *testing.T) {
	for image, version := range map[string]string{
		"agent": "latest", "host:5000/agent": "latest", "host:5000/agent:1.0.0": "1.0.0", "agent@sha256:0123456789abcdef0123": "89abcdef0123",
	} {
		require.Equal(t, version, agent.Spec{Image: image}.ImageVersion(), image)
	}
}
