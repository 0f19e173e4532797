package agents_test

import (
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
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

func wish(watchers ...v1beta2.Watcher) agents.Wish {
	return agents.Wish{
		Image: "registry.example/agent:1.2.3", MemoryLimit: "200Mi", CPULimit: "0.1", Listener: "listener.example:8443", Authorities: "PEM",
		Watches: agents.WatchesOf(desired.Settings{}, watchers),
	}
}

func objectsOf(t *testing.T, w agents.Wish) map[string]*unstructured.Unstructured {
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

func TestTheAgentConsistsOfWhatTheContractNames(t *testing.T) {
	objects := objectsOf(t, wish(watcher("kcp-system", "kyma", nil)))
	require.ElementsMatch(t, []string{
		"Deployment skr-webhook", "Service skr-webhook", "Service skr-webhook-metrics", "PriorityClass skr-webhook-priority",
		"ValidatingWebhookConfiguration skr-webhook", "NetworkPolicy kyma-project.io--seed-to-watcher",
		"NetworkPolicy kyma-project.io--metrics-to-watcher", "NetworkPolicy kyma-project.io--watcher-to-apiserver",
		"NetworkPolicy kyma-project.io--watcher-to-dns",
	}, slices.Collect(maps.Keys(objects)))
	for name, o := range objects {
		require.NotEmpty(t, reserved.Object(o.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}),
			"%s is for the agent alone", name)
	}
	require.EqualValues(t, 1000000000, decode[schedulingv1.PriorityClass](t, objects["PriorityClass skr-webhook-priority"]).Value,
		"upstream's, which cannot be changed where it is there already")
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
	require.Equal(t, "default", deployment.Spec.Template.Spec.ServiceAccountName, "so that none that upstream names stays")
	require.Equal(t, shared.AgentSecret, deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName)
	for _, o := range objects {
		require.NotContains(t, o.Object, "status", "it is for the cluster to say")
	}
}

func TestAnAgentIsStrictWhereItsInstanceUsesFIPS(t *testing.T) {
	godebug := func(w agents.Wish) []string {
		var all []string
		for _, variable := range decode[appsv1.Deployment](t, objectsOf(t, w)["Deployment skr-webhook"]).Spec.Template.Spec.Containers[0].Env {
			if variable.Name == "GODEBUG" {
				all = append(all, variable.Value)
			}
		}
		return all
	}
	without, with := wish(), wish()
	with.FIPS = true
	require.Empty(t, godebug(without))
	require.NotContains(t, without.Encode(), "fips", "the wish of an instance without FIPS stays as it was before there was this field")
	require.Equal(t, []string{"fips140=only,tlsmlkem=0"}, godebug(with))
	require.NotEqual(t, without.Version(), with.Version(), "so that the Deployment changes")
}

func TestEachWatcherHasAWebhookThatNeverRefuses(t *testing.T) {
	configuration := decode[admissionv1.ValidatingWebhookConfiguration](t, objectsOf(t, wish(
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

func TestTheLastWatchersEntryGoesAndTheAgentStays(t *testing.T) {
	configuration := decode[admissionv1.ValidatingWebhookConfiguration](t, objectsOf(t, wish())["ValidatingWebhookConfiguration skr-webhook"])
	require.Empty(t, configuration.Webhooks)
}

func TestALimitThatIsNoQuantityNeedsAChange(t *testing.T) {
	w := wish()
	w.MemoryLimit = "a lot"
	_, err := w.Objects("kyma-system")
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.ErrorContains(t, err, `"a lot" is no quantity`)
	w.MemoryLimit = "16Mi"
	deployment := decode[appsv1.Deployment](t, objectsOf(t, w)["Deployment skr-webhook"])
	require.Equal(t, "16Mi", deployment.Spec.Template.Spec.Containers[0].Resources.Requests.Memory().String(), "it must not ask for more than its limit")
}

func TestAManifestSaysWhatTheAgentIsToBe(t *testing.T) {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "one", UID: "1"}}
	w := wish(watcher("kcp-system", "kyma", nil))
	m := agents.NewManifest(kyma, metav1.OwnerReference{UID: "1"}, desired.Settings{ImagePullSecret: "pull"}.WithDefaults(), desired.Sync{Namespace: "kyma-system"}, w)
	require.True(t, desired.IsAgent(m))
	require.False(t, m.IsMandatory(), "it is no module")
	require.Equal(t, "1.2.3", m.Spec.Version)
	require.Equal(t, "pull", m.Annotations[desired.AnnotationImagePullSecret])
	read, is, err := agents.Of(m)
	require.NoError(t, err)
	require.True(t, is)
	require.Equal(t, w, read)

	m.Annotations[desired.AnnotationAgent] = "{"
	_, _, err = agents.Of(m)
	require.Equal(t, agents.ReasonInvalidWish, fault.Of(err).Reason)
	_, is, err = agents.Of(&v1beta2.Manifest{})
	require.NoError(t, err)
	require.False(t, is)
}

func TestTheVersionIsTheTagOrTheDigest(t *testing.T) {
	for image, version := range map[string]string{
		"agent": "latest", "host:5000/agent": "latest", "host:5000/agent:1.0.0": "1.0.0", "agent@sha256:0123456789abcdef0123": "89abcdef0123",
	} {
		require.Equal(t, version, agents.Wish{Image: image}.ImageVersion(), image)
	}
}

func TestWhatAgentsAreToBeFollowsWatchersAndIsNeverGuessed(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	one := watcher("kcp-system", "kyma", nil)
	watchers := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&one).Build()
	var failed error
	source, err := agents.NewSource(agents.Options{
		Settings: desired.Settings{Watching: desired.Watching{Image: "agent:1"}}, Watchers: watchers,
		Authorities: func(context.Context) ([]byte, error) { return []byte("PEM"), nil },
		Address:     func(context.Context) (string, error) { return "listener:443", failed },
		Certificate: func(context.Context, *v1beta2.Kyma) (desired.SecretVersion, error) {
			return desired.SecretVersion{}, nil
		},
	})
	require.NoError(t, err)
	before, err := source.Version(t.Context())
	require.NoError(t, err)

	one.Spec.LabelsToWatch = nil
	require.NoError(t, watchers.Update(t.Context(), &one))
	after, err := source.Version(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, before, after)

	failed = fault.New(fault.Pending, "GatewayNotFound", "there is no Gateway")
	unknown, err := source.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, agents.Unknown("GatewayNotFound"), unknown)
	failed = fault.New(fault.Transient, "Error", "not now")
	_, err = source.Version(t.Context())
	require.Error(t, err)
}

func TestAuthoritiesAreReadOnceInAWhile(t *testing.T) {
	key := types.NamespacedName{Namespace: "istio-system", Name: "listener"}
	secrets := fake.NewClientBuilder().Build()
	now := time.Now()
	authorities := agents.NewAuthorities(secrets, key, func() time.Time { return now })
	_, err := authorities.Get(t.Context())
	require.Equal(t, fault.Pending, fault.Of(err).Kind)

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{shared.CertificateAuthorityKey: []byte("one")}}
	require.NoError(t, secrets.Create(t.Context(), secret))
	read, err := authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", string(read))
	secret.Data[shared.CertificateAuthorityKey] = []byte("two")
	require.NoError(t, secrets.Update(t.Context(), secret, &client.UpdateOptions{}))
	read, err = authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", string(read))
	now = now.Add(time.Minute)
	read, err = authorities.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two", string(read))
}
