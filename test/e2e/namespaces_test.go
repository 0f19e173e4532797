package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// Four namespaces that are the same one in the other tests; keys and pull Secrets are always in kcp-system.
const (
	// releaseNamespace is one whose accounts are audited (test/fleet/internal/kube/audit.go).
	releaseNamespace = "lm-system"
	kymasNamespace   = "apart-kymas"
	accessNamespace  = "apart-access"
)

// Where the release, Kymas, access Secrets and keys each have a namespace, and watchers and workers an account, each of
// them has all the rights that it needs there. In one namespace for all, a right can be missing that another one covers.
func TestEachNamespaceAndRoleHasItsRights(t *testing.T) {
	const webhook, certificate = "instance-webhook", "instance-webhook-tls"
	common := append([]string{
		"--leader-election-namespace", releaseNamespace, "--namespaces", kymasNamespace, "--access-secret-namespace", accessNamespace,
		"--oci-registry-cred-secret", "registry", "--skr-image-pull-secret", "pull-images",
		"--inject-data-from-kcp-modules=", // what modules may ask for covers the Secrets that the flags name
	}, webhookFlags(t, releaseNamespace+"/"+webhook, certificate)...)
	s := harness.NewEnvironment(t, append([]string{"--role", "watchers", "--leader-elect"}, common...)...)
	private, public := keyPair(t)
	prepareNamespaces(s, public)
	kymas := []*v1beta2.Kyma{newApart(s, "apart-a"), newApart(s, "apart-b")}
	signed := []string{"--sign-key", private, "--signature-name", "releases"}
	s.PushModule(harness.MinimalModule{Name: "permitted", Channels: "regular", Namespace: kymasNamespace, PushFlags: signed, Manifest: injecting("permitted", "injected")})
	applyKind(s, "ModuleTemplate", s.Pack(harness.MinimalModule{Name: "always", Config: "mandatory: true", Namespace: kymasNamespace, PushFlags: signed}))

	// With signatures, watchers may list all Secrets in kcp-system, which covers what the watcher of the one Secret needs.
	s.Instance.Launch()
	s.Instance.Says(`"Starting workers","controller":"image-pull-secret"`, time.Minute)
	s.Instance.Stop()
	common = append(common, "--signature-policy", "require")
	s.Instance.Flags = append([]string{"--role", "watchers", "--leader-elect"}, common...)
	s.Instance.Launch()
	workers := s.NewInstance(append([]string{"--role", "workers"}, common...)...)
	workers.Start()
	t.Cleanup(func() {
		if t.Failed() {
			workers.PrintLog()
		}
		s.DeleteEverything() // Kymas first: with two of them, a removal that the catalog causes needs an approval
		s.DeleteCatalogIn(context.Background(), kymasNamespace)
		workers.Stop()
		s.Instance.Stop() // the leader would make the webhook's configuration again
		_ = s.ControlPlane.Delete(context.Background(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhook}})
		_ = s.ControlPlane.Delete(context.Background(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhook}})
		_ = s.ControlPlane.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: releaseNamespace, Name: certificate}})
	})
	for _, kyma := range kymas {
		require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	}
	s.Eventually("the Kymas are Ready with both modules", 2*time.Minute, func(c *assert.CollectT) {
		for _, kyma := range kymas {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(kyma), kyma))
			assert.Equal(c, shared.StateReady, kyma.Status.State, "%+v", kyma.Status)
			for _, module := range []string{"permitted", "always"} {
				assert.Equal(c, "1.0.0", s.MinimalVersion(kyma.Name, module))
			}
		}
	})
	t.Run("the image pull Secret is brought", func(t *testing.T) {
		copied := &corev1.Secret{}
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: kymas[0].Name, Name: "pull-images"}, copied))
		require.Equal(t, pullData("first"), copied.Data)
	})
	t.Run("workers note that a removal needs an approval, and watchers that it no longer does", func(t *testing.T) {
		meta := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Namespace: kymasNamespace, Name: "permitted"}}
		template := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: kymasNamespace, Name: "always-1.0.0"}}
		for _, change := range []bool{true, false} {
			harness.EditObject(t, s.ControlPlane, meta, func() { meta.Spec.Beta = change })
			harness.EditObject(t, s.ControlPlane, template, func() { template.Spec.Mandatory = !change })
			s.Eventually("it is noted", time.Minute, func(c *assert.CollectT) {
				for _, object := range []client.Object{meta, template} {
					require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(object), object))
					_, noted := object.GetAnnotations()["operator.kyma-project.io/held-removal"]
					assert.Equal(c, change, noted, object.GetName())
				}
			})
		}
		budget := &v1beta2.RemovalBudget{ObjectMeta: metav1.ObjectMeta{Namespace: kymasNamespace, Name: shared.ManagedByLifecycleManager}}
		s.Eventually("workers have made the removal budget, and watchers say what its limit is", time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
			assert.Positive(c, budget.Status.Limit)
		})
	})
	t.Run("the data that a module may ask for is read", func(t *testing.T) {
		for _, instance := range []*harness.Instance{workers, s.Instance} {
			instance.Stop()
			instance.Flags = append(instance.Flags, "--inject-data-from-kcp-modules", "permitted")
		}
		s.Instance.Launch()
		workers.Start()
		s.Eventually("the module's Secret has it", 2*time.Minute, func(c *assert.CollectT) {
			secret := &corev1.Secret{}
			require.NoError(c, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: kymas[0].Name, Name: "injected"}, secret))
			assert.Equal(c, pullData("injected"), secret.Data)
		})
	})
}

// newApart is a Kyma with one module that shares the remote cluster, and with access from the namespace of access Secrets.
func newApart(s *harness.Environment, name string) *v1beta2.Kyma {
	s.T.Helper()
	kyma := harness.NewSynced(name, "permitted")
	kyma.Namespace = kymasNamespace
	access := s.AccessOf(kyma)
	access.Namespace = accessNamespace
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), access))
	s.T.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), access) })
	return kyma
}

// prepareNamespaces makes the namespaces, and the Secrets that a process expects in kcp-system. What remains in the
// namespaces is deleted at the end.
func prepareNamespaces(s *harness.Environment, key []byte) {
	s.T.Helper()
	for _, namespace := range []string{releaseNamespace, kymasNamespace, accessNamespace} {
		s.EnsureNamespace(s.ControlPlane, namespace)
	}
	secret := func(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace}, Type: kind, Data: data}
	}
	keys := secret("releases", "", map[string][]byte{shared.SignatureSecretKey: key})
	keys.Labels = map[string]string{shared.LabelSignature: "releases"}
	injected := secret("injected", corev1.SecretTypeDockerConfigJson, pullData("injected"))
	injected.Labels = map[string]string{shared.LabelModuleName: "permitted"}
	for _, each := range []*corev1.Secret{
		keys, injected, secret("registry", corev1.SecretTypeDockerConfigJson, registryData("http://"+s.Registry)), secret("pull-images", corev1.SecretTypeDockerConfigJson, pullData("first")),
	} {
		require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), each))
		s.T.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), each) })
	}
}
