package admission

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

func TestMain(m *testing.M) {
	// The libraries' logs do not matter here, and without a logger they complain.
	crlog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// stand is a webhook of its own at a real API server, for the test's namespace.
type stand struct {
	*testing.T
	config    *rest.Config
	client    client.Client
	warnings  *warningLog
	namespace string
	port      int
}

// warningLog collects the warnings that the API server sends, as kubectl prints them.
type warningLog struct {
	mu  sync.Mutex
	all []string
}

func (w *warningLog) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warningLog) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.all, "\n")
	w.all = nil
	return all
}

func newStand(t *testing.T) *stand {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	s := &stand{T: t, config: config, namespace: fmt.Sprintf("admission-%x", time.Now().UnixNano()), warnings: &warningLog{}, port: freePort(t)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	loud := rest.CopyConfig(config)
	loud.WarningHandler = s.warnings
	s.client, err = client.New(loud, client.Options{Scheme: scheme})
	require.NoError(t, err)
	s.installDefinitions()
	ctx := context.Background()
	require.NoError(t, s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	t.Cleanup(s.cleanUp)

	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	require.NoError(t, err)
	require.NoError(t, desired.RegisterIndexes(ctx, mgr.GetFieldIndexer()))
	require.NoError(t, desired.RegisterKymaIndex(ctx, mgr.GetFieldIndexer()))
	require.NoError(t, Add(ctx, mgr, Options{
		Settings:    desired.Settings{Mode: desired.ModeControlPlane, Namespaces: []string{s.namespace}, PacingSpan: 5 * time.Minute},
		BindAddress: fmt.Sprintf("127.0.0.1:%d", s.port),
		Service:     types.NamespacedName{Namespace: s.namespace, Name: s.namespace},
		URL:         fmt.Sprintf("https://localhost:%d", s.port),
		Secret:      "certificate",
		CertDir:     filepath.Join(t.TempDir(), "certificate"),
	}))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	s.untilRefusing()
	return s
}

// freePort returns a port that no process listens on. It avoids the ephemeral ports that the operating system could
// assign to a connection the next moment.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(10_000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		require.NoError(t, listener.Close())
		return port
	}
	require.FailNow(t, "no port is free")
	return 0
}

func (s *stand) installDefinitions() {
	s.Helper()
	ctx := context.Background()
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas, crds.ModuleRollouts, crds.RolloutPolicies, crds.RemovalBudgets)
	require.NoError(s, err)
	for _, definition := range definitions {
		if err := s.client.Create(ctx, definition); err != nil {
			require.True(s, apierrors.IsAlreadyExists(err), "%v", err)
		}
		require.Eventually(s, func() bool {
			found := &apiextensionsv1.CustomResourceDefinition{}
			if s.client.Get(ctx, client.ObjectKeyFromObject(definition), found) != nil {
				return false
			}
			for _, condition := range found.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true
				}
			}
			return false
		}, time.Minute, 100*time.Millisecond, "%s is served", definition.Name)
	}
}

// cleanUp removes the configurations from the API server, because other tests use it too.
func (s *stand) cleanUp() {
	ctx := context.Background()
	named := metav1.ObjectMeta{Name: s.namespace}
	for _, configuration := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named}, &admissionv1.MutatingWebhookConfiguration{ObjectMeta: named}} {
		require.NoError(s, client.IgnoreNotFound(s.client.Delete(ctx, configuration)))
	}
	require.NoError(s, s.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
}

// template returns a valid template in the test's namespace.
func (s *stand) template(version string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template("keda", version)
	template.Namespace, template.UID, template.Generation = s.namespace, "", 0
	return template
}

func (s *stand) bad(version string) *v1beta2.ModuleTemplate {
	bad := s.template(version)
	bad.Spec.Descriptor = broken(s.T)
	bad.Spec.Version = "1.0.0"
	return bad
}

// untilRefusing waits until the API server asks the webhook: configuration, certificate and CA exist.
func (s *stand) untilRefusing() {
	s.Helper()
	var last error
	require.Eventually(s, func() bool {
		last = s.client.Create(context.Background(), s.bad("0.0.1"), client.DryRunAll)
		return apierrors.IsInvalid(last)
	}, time.Minute, 200*time.Millisecond, "the API server does not ask: %v", last)
}

// serving returns the serial number of the certificate that the webhook serves.
func (s *stand) serving() string {
	s.Helper()
	connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only reads the certificate
	require.NoError(s, err)
	defer func() { require.NoError(s, connection.Close()) }()
	return string(connection.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
}

func TestTheAPIServerRefusesUnusableObjects(t *testing.T) {
	s := newStand(t)
	ctx := context.Background()

	err := s.client.Create(ctx, s.bad("1.0.0"))
	require.ErrorContains(t, err, "spec.descriptor.component.resources[1].access.type: Required value")
	require.ErrorContains(t, err, "admission webhook")

	for _, version := range []string{"v1alpha1", "v1beta1"} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.bad("1.0.0"))
		require.NoError(t, err)
		old := &unstructured.Unstructured{Object: content}
		old.SetAPIVersion(shared.OperatorGroup + "/" + version)
		old.SetKind(shared.KindModuleTemplate)
		require.ErrorContains(t, s.client.Create(ctx, old), "resources[1].access.type: Required value", version)
	}

	kindless := s.template("1.0.0")
	kindless.Spec.Data = raw(`{"apiVersion":"operator.example.com/v1","metadata":{"name":"default"}}`)
	require.ErrorContains(t, s.client.Create(ctx, kindless), "spec.data.kind: Required value")

	nameless := s.template("1.0.0")
	nameless.Spec.Data = raw(`{"apiVersion":"operator.example.com/v1","kind":"Keda"}`)
	require.ErrorContains(t, s.client.Create(ctx, nameless), "spec.data.metadata.name: Required value")

	good := s.template("1.0.0")
	require.NoError(t, s.client.Create(ctx, good))

	fetched := s.template("1.1.0")
	fetched.Spec.Descriptor = raw("{}")
	require.NoError(t, s.client.Create(ctx, fetched), "a template with an empty descriptor is accepted, because the descriptor is fetched later")

	good.Spec.Version, good.Spec.Descriptor = "1.2.0", desiredtest.Descriptor(desiredtest.Component("keda"), "1.2.0")
	require.ErrorContains(t, s.client.Update(ctx, good), `spec.version: Forbidden: must not change from 1.0.0 to "1.2.0"`)

	channel := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	channel.Namespace, channel.UID, channel.Generation = s.namespace, "", 0
	require.NoError(t, s.client.Create(ctx, channel))
	channel.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), "1.1.0")
	require.NoError(t, s.client.Update(ctx, channel), "the template of a channel may change its version")

	meta := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: "keda", Namespace: s.namespace}, Spec: v1beta2.ModuleReleaseMetaSpec{
		ModuleName: "keda", OCMComponentName: desiredtest.Component("keda"),
		Channels: []v1beta2.ChannelVersion{{Channel: "fast", Version: "1.0.0"}, {Channel: "fast", Version: "1.1.0"}},
	}}
	require.ErrorContains(t, s.client.Create(ctx, meta), "spec.channels[1]: Duplicate value")

	elsewhere := s.bad("1.0.0")
	elsewhere.Namespace = metav1.NamespaceDefault
	require.NoError(t, s.client.Create(ctx, elsewhere, client.DryRunAll), "the selector restricts the webhook to its namespaces")
}

func TestTheAPIServerWarnsAboutEditsThatHaveNoEffect(t *testing.T) {
	s := newStand(t)
	ctx := context.Background()
	kyma := &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Name: "kyma", Namespace: s.namespace},
		Spec:       v1beta2.KymaSpec{Channel: "regular"},
	}
	require.NoError(t, s.client.Create(ctx, kyma))
	kyma.Spec.Channel = "fast"
	require.NoError(t, s.client.Update(ctx, kyma))
	require.NotContains(t, s.warnings.take(), "have no effect")

	desiredtest.Accepted(kyma, v1beta2.SyncGenerationDefault, "regular")
	require.NoError(t, s.client.Status().Update(ctx, kyma))
	kyma.Spec.Channel = "regular"
	require.NoError(t, s.client.Update(ctx, kyma), "an edit without effect is not refused")
	require.Contains(t, s.warnings.take(), "have no effect here: the Kyma kyma-system/default in the remote cluster decides")

	kyma.Labels = map[string]string{"a": "b"}
	require.NoError(t, s.client.Update(ctx, kyma))
	require.NotContains(t, s.warnings.take(), "have no effect")

	good := kyma.DeepCopy()
	kyma.Annotations = map[string]string{shared.AnnotationDeferUpgradesUntil: "soon"}
	err := s.client.Update(ctx, kyma)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, `must be a time such as 2026-12-24T18:00:00Z`)
	good.Annotations = map[string]string{shared.AnnotationDeferUpgradesUntil: "keda=2026-12-24T18:00:00Z"}
	require.NoError(t, s.client.Update(ctx, good))
	good.Annotations["other"] = "x"
	require.NoError(t, s.client.Update(ctx, good))
}

func TestTheAPIServerWarnsAboutTheEffectOfAReleaseMetaEdit(t *testing.T) {
	s := newStand(t)
	ctx := context.Background()
	const module = "warned" // no Kyma of another test has this module
	kyma := desiredtest.Kyma(module)
	kyma.Namespace, kyma.UID, kyma.Generation = s.namespace, "", 0
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: new(false)}
	require.NoError(t, s.client.Create(ctx, kyma))
	meta := desiredtest.ReleaseMeta(module, "regular=1.0.0")
	meta.Namespace, meta.UID, meta.Generation = s.namespace, "", 0
	require.NoError(t, s.client.Create(ctx, meta))
	s.warnings.take()
	meta.Spec.Channels[0].Version = "1.1.0"
	require.Eventually(t, func() bool {
		// The informers may receive the Kyma later, and start with the first request for them.
		require.NoError(t, s.client.Update(ctx, meta.DeepCopy(), client.DryRunAll))
		return strings.Contains(s.warnings.take(), "moves 1 Kyma from "+module+" 1.0.0 to 1.1.0 on channel regular, spread over 5m")
	}, time.Minute, 200*time.Millisecond)
	meta.Spec.Channels[0].Version = "1.0.0"
	meta.Labels = map[string]string{"a": "b"}
	require.NoError(t, s.client.Update(ctx, meta))
	require.NotContains(t, s.warnings.take(), "moves")
}

func TestALostCertificateIsCreatedAgain(t *testing.T) {
	s := newStand(t)
	ctx := context.Background()
	first := s.serving()
	secret := &corev1.Secret{}
	// The webhook writes both objects too.
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		require.NoError(t, s.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: "certificate"}, secret))
		secret.Data = nil
		return s.client.Update(ctx, secret)
	}))
	require.Eventually(t, func() bool { return s.serving() != first }, time.Minute, 200*time.Millisecond)
	s.untilRefusing()

	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		require.NoError(t, s.client.Get(ctx, types.NamespacedName{Name: s.namespace}, configuration))
		configuration.Webhooks[0].ClientConfig.CABundle = nil
		return s.client.Update(ctx, configuration)
	}))
	require.Eventually(t, func() bool {
		require.NoError(t, s.client.Get(ctx, types.NamespacedName{Name: s.namespace}, configuration))
		return len(configuration.Webhooks[0].ClientConfig.CABundle) > 0
	}, time.Minute, 200*time.Millisecond, "otherwise the API server would keep using its open connection")
	s.untilRefusing()
}
