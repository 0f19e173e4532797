package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/upstream"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// workload is the name of the Deployment of a module in a version.
func workload(module, version string) string {
	return module + "-" + strings.ReplaceAll(version, ".", "-")
}

// withWorkload is a module whose Deployment has another name in each version.
func withWorkload(module, version string) harness.MinimalModule {
	return harness.MinimalModule{Name: module, Version: version, Channels: "regular", Manifest: fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, namespace: kyma-system}
data: {version: %[2]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[3]s, namespace: kyma-system}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[3]s}}
  template:
    metadata: {labels: {app: %[3]s}}
    spec: {containers: [{name: operator, image: "example.com/operator:%[2]s"}]}
`, module, version, workload(module, version))}
}

// upstreamLeft creates a Manifest with its module of one workload as upstream leaves it when the module is ready. Change may
// change its metadata and spec.
func upstreamLeft(s *harness.Environment, kyma *v1beta2.Kyma, module string, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
	s.T.Helper()
	return upstreamLeftModule(s, kyma, module, withWorkload(module, "1.0.0").Manifest, change)
}

// upstreamLeftModule does the same for a module of any content.
func upstreamLeftModule(s *harness.Environment, kyma *v1beta2.Kyma, module, content string, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
	s.T.Helper()
	component := "kyma-project.io/module/" + module
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Name: shared.ManifestName(kyma.Name, component, module), Namespace: kyma.Namespace,
			Labels: map[string]string{
				shared.LabelKymaName: kyma.Name, shared.LabelModuleName: module, shared.LabelChannel: "regular", shared.LabelManagedBy: "lifecycle-manager",
			},
			Annotations:     map[string]string{shared.AnnotationFQDN: component},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{Version: "1.0.0", Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: v1beta2.ImageSpec{
			Repo: s.Registry, Name: component, Ref: layerOf(s, module, "1.0.0"), Type: v1beta2.ImageSourceOCIRef,
		}}},
	}
	upstream.Shape(m)
	if change != nil {
		change(m)
	}
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), m))
	synced, err := upstream.Install(s.T.Context(), s.Remote, m, content)
	require.NoError(s.T, err)
	m.Status = upstream.Status(m, synced)
	require.NoError(s.T, s.ControlPlane.Status().Update(s.T.Context(), m))
	return m
}

// layerOf is the digest of the layer of a module in the catalog.
func layerOf(s *harness.Environment, module, version string) string {
	s.T.Helper()
	var templates v1beta2.ModuleTemplateList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &templates, client.InNamespace(harness.ControlPlaneNamespace)))
	for _, template := range templates.Items {
		if template.Spec.ModuleName != module || template.Spec.Version != version {
			continue
		}
		described, err := versions.ParseDescriptor(template.Spec.Descriptor.Raw)
		require.NoError(s.T, err)
		contents, problems := described.Contents()
		require.Empty(s.T, problems)
		return contents.Install.Digest
	}
	s.T.Fatalf("no ModuleTemplate of %s %s", module, version)
	return ""
}

// agentLeft leaves upstream's agent in the remote cluster.
func agentLeft(s *harness.Environment) []client.Object {
	s.T.Helper()
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: harness.RemoteNamespace, Labels: map[string]string{shared.LabelManagedBy: "kyma"}}
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: named("skr-webhook")}
	configuration.Namespace = ""
	app := map[string]string{"app": "skr-webhook"}
	all := []client.Object{
		configuration,
		&corev1.Secret{ObjectMeta: named("skr-webhook-tls")},
		&corev1.Service{ObjectMeta: named("skr-webhook"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
		&appsv1.Deployment{ObjectMeta: named("skr-webhook"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/agent"}}},
			},
		}},
	}
	for _, object := range all {
		require.NoError(s.T, s.Remote.Create(s.T.Context(), object))
	}
	return all
}

// certificateLeft leaves the certificate of upstream's agent in the control plane, and allows the instance to delete it.
func certificateLeft(s *harness.Environment, kyma string) *corev1.Secret {
	s.T.Helper()
	const namespace = "istio-system"
	s.EnsureNamespace(s.ControlPlane, namespace)
	named := metav1.ObjectMeta{Name: "upstreams-certificates", Namespace: namespace}
	role := &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "delete"}},
		// Another test may have brought their definitions.
		{APIGroups: []string{"cert-manager.io", "cert.gardener.cloud"}, Resources: []string{"certificates"}, Verbs: []string{"get", "delete"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + harness.ControlPlaneNamespace}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kyma + "-webhook-tls", Namespace: namespace}}
	for _, object := range []client.Object{role, binding, secret} {
		require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), object))
	}
	s.T.Cleanup(func() {
		_ = s.ControlPlane.Delete(context.Background(), role)
		_ = s.ControlPlane.Delete(context.Background(), binding)
	})
	return secret
}

// podsOf are the uids of the pods of a workload in the remote cluster.
func podsOf(s *harness.Environment, name string) []types.UID {
	s.T.Helper()
	var pods corev1.PodList
	require.NoError(s.T, s.Remote.List(s.T.Context(), &pods, client.InNamespace(harness.RemoteNamespace), client.MatchingLabels{"app": name}))
	var all []types.UID
	for _, pod := range pods.Items {
		all = append(all, pod.UID)
	}
	return all
}

// A Kyma that upstream left, with modules in every state, from the plan of its takeover to its removal: one test, because
// each part depends on the one before.
func TestAKymaOfUpstreamsIsTakenOver(t *testing.T) {
	s := harness.NewEnvironment(t)
	for _, module := range []string{"settled", "upgrading", "leaving", "unmanaged"} {
		s.PushModule(withWorkload(module, "1.0.0"))
	}
	mandatory := withWorkload("mandatory", "1.0.0")
	mandatory.Channels, mandatory.Config = "", "mandatory: true"
	applyKind(s, "ModuleTemplate", s.Pack(mandatory))
	s.PushModule(withWorkload("upgrading", "1.1.0"))

	kyma := harness.NewKyma("taken", "settled", "upgrading", "unmanaged")
	kyma.Spec.Modules[2].Managed = new(false)
	kyma.Finalizers = []string{shared.FinalizerKyma}
	s.Create(kyma)
	kyma.Status.State = shared.StateReady
	for _, condition := range []string{"Modules", "ModuleCatalog", "SKRWebhook"} {
		meta.SetStatusCondition(&kyma.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Ready", Message: "as upstream says"})
	}
	require.NoError(t, s.ControlPlane.Status().Update(t.Context(), kyma))

	upstreamLeft(s, kyma, "settled", nil)
	upgrading := upstreamLeft(s, kyma, "upgrading", nil)
	upgrading.Spec.Version, upgrading.Spec.Install.Source.Ref = "1.1.0", layerOf(s, "upgrading", "1.1.0")
	require.NoError(t, s.ControlPlane.Update(t.Context(), upgrading))
	leaving := upstreamLeft(s, kyma, "leaving", nil)
	require.NoError(t, s.ControlPlane.Delete(t.Context(), leaving))
	upstreamLeft(s, kyma, "unmanaged", func(m *v1beta2.Manifest) { m.Annotations[shared.AnnotationIsUnmanaged] = "true" })
	upstreamLeft(s, kyma, "mandatory", func(m *v1beta2.Manifest) {
		delete(m.Labels, shared.LabelChannel)
		m.Labels[shared.LabelMandatoryModule] = "true"
	})
	agent, certificate := agentLeft(s), certificateLeft(s, "taken")
	deployment := func(module, version string) *appsv1.Deployment {
		t.Helper()
		found := &appsv1.Deployment{}
		err := s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: workload(module, version)}, found)
		if apierrors.IsNotFound(err) {
			return nil
		}
		require.NoError(t, err)
		return found
	}
	s.Eventually("upstream's workloads run", 2*time.Minute, func(c *assert.CollectT) {
		for _, module := range []string{"settled", "mandatory"} {
			assert.Positive(c, deployment(module, "1.0.0").Status.AvailableReplicas, module)
		}
	})
	before, pods := deployment("settled", "1.0.0"), podsOf(s, workload("settled", "1.0.0"))
	mandated := deployment("mandatory", "1.0.0")
	migrate := func(args ...string) string {
		t.Helper()
		return string(s.Run(testfleet.Binary(t, "lifecycle-manager"), append([]string{"migrate", "--kubeconfig", s.ControlPlane.Kubeconfig}, args...)...))
	}

	t.Run("the plan says what would change, and changes nothing", func(t *testing.T) {
		said := migrate("plan", "taken")
		require.Contains(t, said, "Kyma kcp-system/taken: upstream's, taken over at its first reconcile\n")
		require.Contains(t, said, "settled 1.0.0 (Ready): 2 objects stay as they are and get our mark\n")
		require.Contains(t, said, "upgrading 1.1.0 (Ready): upgrade to 1.1.0 continues, with 2 objects found; objects that only the old version has are removed\n")
		require.Contains(t, said, "mandatory 1.0.0 (Ready): 2 objects stay as they are and get our mark\n")
		require.Contains(t, said, "leaving 1.0.0 (Ready): its removal continues with 2 objects\n")
		require.Contains(t, said, "unmanaged 1.0.0 (Ready): 2 objects stay and lose the marks, because the module is not managed\n")
		require.Contains(t, said, "upstream's agent: removed from the remote cluster")
		require.Equal(t, before.ResourceVersion, deployment("settled", "1.0.0").ResourceVersion)
	})
	t.Run("what is held stays upstream's until it is adopted", func(t *testing.T) {
		require.Contains(t, migrate("hold", "--all"), "Kyma kcp-system/taken: held")
		s.Instance.Start()
		s.Eventually("what upstream was removing is removed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Nil(c, deployment("leaving", "1.0.0"))
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(leaving), &v1beta2.Manifest{})))
		})
		require.Equal(t, before.Annotations, deployment("settled", "1.0.0").Annotations)
		require.Contains(t, migrate("adopt", "taken", "--timeout", "2m"), "Kyma kcp-system/taken: taken over")
		s.ReadyAmongOthers("taken", "settled", "1.0.0")
		s.ReadyAmongOthers("taken", "upgrading", "1.1.0")
	})
	t.Run("settled and mandatory modules are taken over in place", func(t *testing.T) {
		after := deployment("settled", "1.0.0")
		require.Equal(t, before.UID, after.UID)
		require.Equal(t, before.Annotations["deployment.kubernetes.io/revision"], after.Annotations["deployment.kubernetes.io/revision"])
		require.Equal(t, pods, podsOf(s, workload("settled", "1.0.0")))
		require.Contains(t, after.Annotations, shared.AnnotationOwnedBy)
		require.NotContains(t, after.Annotations, shared.AnnotationOwnedByUpstream)
		require.Equal(t, mandated.UID, deployment("mandatory", "1.0.0").UID)
		require.Contains(t, deployment("mandatory", "1.0.0").Annotations, shared.AnnotationOwnedBy)
	})
	t.Run("an upgrade that was under way leaves nothing of the old version", func(t *testing.T) {
		require.Nil(t, deployment("upgrading", "1.0.0"))
		require.NotNil(t, deployment("upgrading", "1.1.0"))
	})
	t.Run("a module that is not managed stays, without marks", func(t *testing.T) {
		s.Eventually("it is released", 2*time.Minute, func(c *assert.CollectT) {
			found := deployment("unmanaged", "1.0.0")
			if assert.NotNil(c, found) {
				assert.NotContains(c, found.Labels, shared.LabelManagedBy)
				assert.NotContains(c, found.Annotations, shared.AnnotationOwnedByUpstream)
			}
		})
	})
	t.Run("upstream's agent is gone, and what was said of it", func(t *testing.T) {
		require.Nil(t, meta.FindStatusCondition(s.Kyma("taken").Status.Conditions, "SKRWebhook"))
		for _, object := range agent {
			err := s.Remote.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			require.True(t, apierrors.IsNotFound(err), "%T", object)
		}
		err := s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(certificate), certificate)
		require.True(t, apierrors.IsNotFound(err), "%v, Events: %v", err, s.Warnings(s.Kyma("taken")))
	})
	t.Run("the next upgrade prunes what upstream installed", func(t *testing.T) {
		mandatory.Version, mandatory.Manifest = "1.1.0", withWorkload("mandatory", "1.1.0").Manifest
		applyKind(s, "ModuleTemplate", s.Pack(mandatory))
		s.PushModule(withWorkload("settled", "1.1.0"))
		s.ReadyAmongOthers("taken", "settled", "1.1.0")
		require.Nil(t, deployment("settled", "1.0.0"))
		s.Eventually("the mandatory module is upgraded", 2*time.Minute, func(c *assert.CollectT) {
			assert.NotNil(c, deployment("mandatory", "1.1.0"))
			assert.Nil(c, deployment("mandatory", "1.0.0"))
		})
	})
	t.Run("modules go, come again, are managed again and upgraded while the Kyma stays", func(t *testing.T) {
		released := deployment("unmanaged", "1.0.0")
		s.EditRemote(func(k *v1beta2.Kyma) {
			k.Spec.Modules = []v1beta2.Module{{Name: "upgrading"}, {Name: "unmanaged"}, {Name: "leaving"}}
		})
		s.BecomesReady("taken", "upgrading@1.1.0", "unmanaged@1.0.0", "leaving@1.0.0")
		require.Nil(t, deployment("settled", "1.1.0"))
		require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, "settled"))
		require.NotNil(t, deployment("leaving", "1.0.0"))
		managed := deployment("unmanaged", "1.0.0")
		require.Equal(t, released.UID, managed.UID)
		require.Contains(t, managed.Annotations, shared.AnnotationOwnedBy)

		for _, module := range []string{"unmanaged", "leaving"} {
			s.PushModule(withWorkload(module, "1.1.0"))
		}
		s.PushModule(withWorkload("upgrading", "1.2.0"))
		s.BecomesReady("taken", "upgrading@1.2.0", "unmanaged@1.1.0", "leaving@1.1.0")
		for module, old := range map[string]string{"upgrading": "1.1.0", "unmanaged": "1.0.0", "leaving": "1.0.0"} {
			require.Nil(t, deployment(module, old), module)
		}
	})
	t.Run("with the Kyma everything goes", func(t *testing.T) {
		s.RemoveKyma("taken")
		require.Empty(t, s.OfModule(t, s.Remote))
		for _, name := range []string{"upgrading", "mandatory", "unmanaged", "leaving"} {
			require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, name))
		}
	})
}
