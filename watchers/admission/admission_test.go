package admission

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// broken returns a descriptor with a second resource without an access type.
func broken(t *testing.T) *runtime.RawExtension {
	t.Helper()
	resource := func(name string, access map[string]any) map[string]any {
		return map[string]any{"name": name, "type": name, "relation": "local", "version": "1.0.0", "access": access}
	}
	return desiredtest.RawDescriptor(desiredtest.Component("keda"), "1.0.0",
		resource("raw-manifest", map[string]any{"type": "localBlob", "localReference": desiredtest.Digest("a")}),
		resource("config", map[string]any{"localReference": desiredtest.Digest("b")}))
}

func withPriority(value string) func(*v1beta2.ModuleTemplate) {
	return func(m *v1beta2.ModuleTemplate) { m.Annotations[shared.AnnotationPriority] = value }
}

func TestModuleTemplatesAtCreation(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*v1beta2.ModuleTemplate)
		refused string
	}{
		{name: "a good one", change: func(*v1beta2.ModuleTemplate) {}},
		{name: "an empty descriptor", change: func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = raw("{}") }},
		{
			name: "a descriptor with a mistake", change: func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = broken(t) },
			refused: "spec.descriptor.component.resources[1].access.type: Required value",
		},
		{
			name: "a version that differs from the descriptor's", change: func(m *v1beta2.ModuleTemplate) { m.Spec.Version = "1.0.1" },
			refused: "spec.descriptor.component.version",
		},
		{
			name: "a module name that does not match the component", change: func(m *v1beta2.ModuleTemplate) { m.Spec.ModuleName = "istio" },
			refused: "spec.descriptor.component.name",
		},
		{
			name: "a default custom resource without kind", change: func(m *v1beta2.ModuleTemplate) { m.Spec.Data = raw(`{"apiVersion":"v1"}`) },
			refused: "spec.data.kind: Required value",
		},
		{
			name: "a default custom resource without name", change: func(m *v1beta2.ModuleTemplate) { m.Spec.Data = raw(`{"apiVersion":"v1","kind":"A"}`) },
			refused: "spec.data.metadata.name: Required value",
		},
		{
			name: "an invalid path to the state",
			change: func(m *v1beta2.ModuleTemplate) {
				m.Spec.CustomStateCheck = []v1beta2.CustomStateCheck{{JSONPath: "status.ok", Value: "yes", MappedState: "Ready"}, {JSONPath: "status.nodes[", Value: "yes", MappedState: "Ready"}}
			},
			refused: `spec.customStateCheck[1].jsonPath: Invalid value: "status.nodes[" is not a JSONPath`,
		},
		{name: "a hot-fix", change: withPriority("hot-fix")},
		{name: "no hot-fix", change: withPriority("regular")},
		{
			name: "an unknown priority", change: withPriority("hotfix"),
			refused: `metadata.annotations[operator.kyma-project.io/priority]: Invalid value: "hotfix" is not a priority: use hot-fix or regular`,
		},
		{
			name: "a synced copy is skipped",
			change: func(m *v1beta2.ModuleTemplate) {
				m.Spec.Descriptor, m.Annotations[desired.AnnotationSyncedFrom] = broken(t), "kcp-system/kyma"
			},
		},
		{
			name: "an object of another instance is skipped",
			change: func(m *v1beta2.ModuleTemplate) {
				m.Spec.Descriptor, m.Labels[shared.LabelManagedBy] = broken(t), "another-instance"
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := desiredtest.Template("keda", "1.0.0")
			test.change(template)
			warned, err := templates{}.ValidateCreate(context.Background(), template)
			if test.refused == "" {
				require.NoError(t, err)
			} else {
				require.True(t, apierrors.IsInvalid(err), "the answer has the form of the API server's own")
				require.ErrorContains(t, err, test.refused)
			}
			require.Empty(t, warned)
		})
	}
}

func TestModuleTemplatesAtUpdate(t *testing.T) {
	moved := func(m *v1beta2.ModuleTemplate) {
		m.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), "1.1.0")
		if m.Spec.Version != "" {
			m.Spec.Version = "1.1.0"
		}
	}
	byVersion := func() *v1beta2.ModuleTemplate { return desiredtest.Template("keda", "1.0.0") }
	byChannel := func() *v1beta2.ModuleTemplate { return desiredtest.ChannelTemplate("keda", "regular", "1.0.0") }
	const refusal = `spec.version: Forbidden: must not change from 1.0.0 to "1.1.0"`
	for _, test := range []struct {
		name    string
		before  *v1beta2.ModuleTemplate
		change  func(*v1beta2.ModuleTemplate)
		refused string
	}{
		{name: "a version moves in place", before: byVersion(), change: moved, refused: refusal},
		{
			name: "a version moves in place in the descriptor alone", before: byVersion(), refused: refusal,
			change: func(m *v1beta2.ModuleTemplate) { m.Spec.Version = ""; moved(m) },
		},
		{name: "a channel's version moves in place", before: byChannel(), change: moved},
		{
			name: "a channel's version moves in place, also in the field", before: byChannel(),
			change: func(m *v1beta2.ModuleTemplate) { moved(m); m.Spec.Version = "1.1.0" },
		},
		{
			name: "a channel does not circumvent the rule", before: byVersion(), refused: refusal,
			change: func(m *v1beta2.ModuleTemplate) { moved(m); m.Spec.Channel = "regular" },
		},
		{
			name: "the channel is taken away with another version", before: byChannel(), refused: refusal,
			change: func(m *v1beta2.ModuleTemplate) { moved(m); m.Spec.Version, m.Spec.Channel = "1.1.0", "" },
		},
		{name: "the version is also set in the field", before: byChannel(), change: func(m *v1beta2.ModuleTemplate) { m.Spec.Version = "1.0.0" }},
		{name: "the descriptor is fetched from now on", before: byVersion(), change: func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = raw("{}") }},
		{
			name: "a version is taken away", before: byVersion(), refused: `spec.version: Forbidden: must not change from 1.0.0 to ""`,
			change: func(m *v1beta2.ModuleTemplate) { m.Spec.Version, m.Spec.Descriptor = "", raw("{}") },
		},
		{
			name: "a mistake is made", before: byVersion(), refused: "spec.descriptor.component.resources[1].access.type",
			change: func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = broken(t) },
		},
		{name: "it becomes a hot-fix", before: byVersion(), change: withPriority("hot-fix")},
		{
			name: "it gets an unknown priority", before: byVersion(), change: withPriority("urgent"),
			refused: `metadata.annotations[operator.kyma-project.io/priority]: Invalid value: "urgent" is not a priority`,
		},
		{
			name: "a stored unknown priority does not prevent adding a label", before: modified(byVersion(), withPriority("urgent")),
			change: func(m *v1beta2.ModuleTemplate) { m.Labels["a"] = "b" },
		},
		{name: "a mistake that is stored can be fixed", before: modified(byVersion(), func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = broken(t) }), change: func(m *v1beta2.ModuleTemplate) {
			m.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), "1.0.0")
		}},
		{
			name: "a stored mistake does not prevent adding a label", before: modified(byVersion(), func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = broken(t) }),
			change: func(m *v1beta2.ModuleTemplate) { m.Labels["a"] = "b" },
		},
		{
			name: "a template that is being deleted is released", before: byVersion(),
			change: func(m *v1beta2.ModuleTemplate) {
				m.Spec.Descriptor, m.DeletionTimestamp = broken(t), &metav1.Time{Time: time.Unix(1, 0)}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := test.before.DeepCopy()
			test.change(after)
			_, err := templates{}.ValidateUpdate(context.Background(), test.before, after)
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.refused)
		})
	}
}

func modified[T any](object T, change func(T)) T {
	change(object)
	return object
}

func TestAnEditThatHasNoEffectIsWarnedAbout(t *testing.T) {
	off, on := false, true
	decided := func(change func(*v1beta2.Kyma)) *v1beta2.Kyma {
		kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "regular")
		change(kyma)
		return kyma
	}
	nothing := func(*v1beta2.Kyma) {}
	channel := func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" }
	modules := func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "istio"}) }
	for _, test := range []struct {
		name   string
		mode   desired.Mode
		before *v1beta2.Kyma
		change func(*v1beta2.Kyma)
		warned bool
	}{
		{name: "another channel", before: decided(nothing), change: channel, warned: true},
		{name: "another module", before: decided(nothing), change: modules, warned: true},
		{name: "another policy of a module", before: decided(nothing), change: func(k *v1beta2.Kyma) { k.Spec.Modules[0].CustomResourcePolicy = "Ignore" }, warned: true},
		{name: "something else", before: decided(nothing), change: func(k *v1beta2.Kyma) { k.Spec.SkipMaintenanceWindows = true }},
		{name: "before the remote Kyma was read", before: desiredtest.Kyma("keda"), change: modules},
		{name: "both sides decide", change: modules, before: func() *v1beta2.Kyma {
			k := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationExplicit, "regular")
			k.Spec.Sync = &v1beta2.Sync{Enabled: &on}
			return k
		}()},
		{name: "nothing is synchronized", before: decided(func(k *v1beta2.Kyma) { k.Spec.Sync = &v1beta2.Sync{Enabled: &off} }), change: modules},
		{name: "in single-cluster mode", mode: desired.ModeSingleCluster, before: decided(nothing), change: modules},
		{name: "a copy", before: decided(func(k *v1beta2.Kyma) { k.Annotations[desired.AnnotationSyncedFrom] = "a/b" }), change: modules},
		{name: "of another instance", before: decided(func(k *v1beta2.Kyma) { k.Labels[shared.LabelManagedBy] = "another" }), change: modules},
	} {
		t.Run(test.name, func(t *testing.T) {
			mode := test.mode
			if mode == "" {
				mode = desired.ModeControlPlane
			}
			after := test.before.DeepCopy()
			test.change(after)
			warned, err := kymas{settings: desired.Settings{Mode: mode}}.ValidateUpdate(context.Background(), test.before, after)
			require.NoError(t, err, "an edit without effect is not refused")
			if !test.warned {
				require.Empty(t, warned)
				return
			}
			require.Len(t, warned, 1)
			require.Contains(t, warned[0], "kyma-system/default in the remote cluster decides")
		})
	}
}

func TestOptionsThatCannotWorkAreRefusedAtStart(t *testing.T) {
	good := Options{
		BindAddress: ":9443", Service: types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager-webhook"},
		Secret: "lifecycle-manager-webhook-tls", CertDir: "/somewhere",
	}
	require.NoError(t, good.Check())
	host, err := good.host()
	require.NoError(t, err)
	require.Equal(t, "lifecycle-manager-webhook.kcp-system.svc", host)
	good.URL = "https://localhost:9443"
	require.NoError(t, good.Check())
	host, err = good.host()
	require.NoError(t, err)
	require.Equal(t, "localhost", host)
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no port", func(o *Options) { o.BindAddress = "localhost" }, "bind address"},
		{"an invalid port", func(o *Options) { o.BindAddress = ":http" }, "no port"},
		{"port 0", func(o *Options) { o.BindAddress = ":0" }, "no port"},
		{"http", func(o *Options) { o.URL = "http://localhost:9443" }, "https://"},
		{"no scheme", func(o *Options) { o.URL = "localhost:9443" }, "https://"},
		{"an address", func(o *Options) { o.URL = "https://127.0.0.1:9443" }, "host name"},
		{"a path", func(o *Options) { o.URL = "https://localhost:9443/validate" }, "only a host"},
		{"an invalid Service name", func(o *Options) { o.Service.Name = "a/b/c" }, "service"},
		{"no namespace", func(o *Options) { o.Service.Namespace = "" }, "namespace"},
		{"no Secret", func(o *Options) { o.Secret = "" }, "Secret"},
		{"no folder", func(o *Options) { o.CertDir = "" }, "folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := good
			test.change(&options)
			require.ErrorContains(t, options.Check(), test.want)
		})
	}
}

func TestTheConfigurationNamesAServiceOrAURL(t *testing.T) {
	options := Options{Service: types.NamespacedName{Namespace: "kcp-system", Name: "webhook"}}
	for _, entry := range options.webhooks() {
		require.Nil(t, entry.ClientConfig.URL)
		require.Equal(t, "webhook", entry.ClientConfig.Service.Name)
		require.Equal(t, int32(443), *entry.ClientConfig.Service.Port)
		require.Equal(t, "Ignore", string(*entry.FailurePolicy), "otherwise nobody could fix the catalog while the webhook is down")
	}
	for _, entry := range options.mutatingWebhooks() {
		require.Nil(t, entry.ClientConfig.URL)
		require.Equal(t, "webhook", entry.ClientConfig.Service.Name)
		require.Equal(t, "Fail", string(*entry.FailurePolicy), "otherwise an approval would carry whatever name the request claims")
		require.NotEmpty(t, entry.MatchConditions, "otherwise a rollout could not be paused while the webhook is down")
	}
	options.URL = "https://localhost:9443/"
	encoded, err := json.Marshal([]any{options.webhooks(), options.mutatingWebhooks()})
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"https://localhost:9443/validate/moduletemplate"`)
	require.Contains(t, string(encoded), `"https://localhost:9443/mutate/approval"`)
	require.NotContains(t, string(encoded), "service")
}

// Another instance may own the other namespaces, with other rules.
func TestTheWebhookIsAskedOnlyAboutNamespacesOfTheInstance(t *testing.T) {
	options := Options{}
	for _, namespaces := range [][]string{nil, {"a", "b"}} {
		options.Settings.Namespaces = namespaces
		var selectors []*metav1.LabelSelector
		for _, entry := range options.webhooks() {
			selectors = append(selectors, entry.NamespaceSelector)
		}
		for _, entry := range options.mutatingWebhooks() {
			selectors = append(selectors, entry.NamespaceSelector)
		}
		for _, given := range selectors {
			selector, err := metav1.LabelSelectorAsSelector(given)
			require.NoError(t, err)
			for name, want := range map[string]bool{"a": true, "b": true, "c": namespaces == nil} {
				require.Equal(t, want, selector.Matches(labels.Set{corev1.LabelMetadataName: name}), "%v: %s", namespaces, name)
			}
		}
	}
}

func TestANewInvalidDeferralIsRefused(t *testing.T) {
	v := kymas{settings: desired.Settings{Mode: desired.ModeSingleCluster}}
	set := func(text string) *v1beta2.Kyma {
		kyma := desiredtest.Kyma("keda")
		kyma.Annotations[shared.AnnotationDeferUpgradesUntil] = text
		return kyma
	}
	_, err := v.ValidateUpdate(t.Context(), desiredtest.Kyma("keda"), set(strings.Repeat("soon", 2000)))
	require.ErrorContains(t, err, "metadata.annotations["+shared.AnnotationDeferUpgradesUntil+"]")
	require.ErrorContains(t, err, "must be a time such as")
	require.Less(t, len(err.Error()), 1000, "the message shows only a part")
	for name, edit := range map[string][2]*v1beta2.Kyma{
		"a good one":              {desiredtest.Kyma("keda"), set("keda=2026-12-24T18:00:00Z")},
		"one that was set before": {set("soon"), set("soon")},
		"of another instance":     {desiredtest.Kyma("keda"), modified(set("soon"), func(k *v1beta2.Kyma) { k.Labels[shared.LabelManagedBy] = "another" })},
	} {
		_, err := v.ValidateUpdate(t.Context(), edit[0], edit[1])
		require.NoError(t, err, name)
	}
}
