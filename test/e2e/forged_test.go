package e2e

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// Somebody who may only create and edit Manifests gets nothing into a cluster, and the chart's policy keeps her from it
// altogether.
func TestWhoMayWriteManifestsGetsNothingIntoACluster(t *testing.T) {
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, "--metrics-bind-address", metrics)
	s.SweepNever()
	s.PushMinimal("fine")
	s.PushModule(harness.MinimalModule{Name: "bait"}) // in no channel
	s.Instance.Start()
	s.Create(harness.NewKyma("victim", "fine"))
	s.BecomesReady("victim", "fine@1.0.0")
	kyma := s.Kyma("victim")
	planned := s.Manifests(kyma)[0]
	mallory := writerOfManifests(s)

	forged := func(name string, change func(*v1beta2.Manifest)) *v1beta2.Manifest {
		m := &v1beta2.Manifest{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: kyma.Namespace, Name: name,
				Labels:          map[string]string{shared.LabelKymaName: kyma.Name, shared.LabelModuleName: "bait"},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
			},
			Spec: *planned.Spec.DeepCopy(),
		}
		m.Spec.Install.Source.Name, m.Spec.Install.Source.Ref = baitOf(s)
		change(m)
		return m
	}
	refused := 0
	for name, change := range map[string]func(*v1beta2.Manifest){
		"plain":     func(*v1beta2.Manifest) {},
		"mandatory": func(m *v1beta2.Manifest) { m.Labels[shared.LabelMandatoryModule] = shared.ValueTrue },
		"named-as-a-module": func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelModuleName] = "fine"
			m.Annotations = map[string]string{shared.AnnotationOCMComponentName: planned.ComponentName()}
		},
		"copied": func(m *v1beta2.Manifest) {
			m.Labels, m.Annotations = planned.Labels, planned.Annotations
			m.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(m.Spec)
		},
		"skipped": func(m *v1beta2.Manifest) {
			m.Labels[shared.LabelSkipReconciliation], m.Labels[shared.LabelMandatoryModule] = shared.ValueTrue, shared.ValueTrue
		},
	} {
		m := forged(name, change)
		require.NoError(t, mallory.Create(t.Context(), m))
		if name == "skipped" {
			// Nobody works on it until its label goes.
			m.Labels[shared.LabelSkipReconciliation] = "false"
			require.NoError(t, mallory.Update(t.Context(), m))
		}
		refused++
		s.Eventually(name+" is removed", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(m), &v1beta2.Manifest{})))
		})
		require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, "bait"), name)
	}
	s.Warns(kyma, "ManifestNotPlanned", "was not made by a plan of this Kyma")
	s.Eventually("all of them are counted", time.Minute, func(c *assert.CollectT) {
		// One that the plan removes while it is refused may be counted by both.
		counted, err := strconv.Atoi(process.Metric(t, metrics, "lifecycle_mgr_unplanned_manifests_total"))
		require.NoError(c, err)
		assert.GreaterOrEqual(c, counted, refused)
	})

	edits := func(change func(*v1beta2.Manifest)) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			edited := s.Manifests(kyma)[0].DeepCopy()
			change(edited)
			return mallory.Update(t.Context(), edited)
		})
	}
	require.NoError(t, edits(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source.Name, m.Spec.Install.Source.Ref = baitOf(s)
		m.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(m.Spec)
	}))
	s.Eventually("an edited spec is put back", time.Minute, func(c *assert.CollectT) {
		now := s.Manifests(kyma)[0]
		assert.Equal(c, planned.Spec, now.Spec)
		assert.True(c, now.Status.Settled)
	})
	require.Empty(t, s.MinimalVersion(harness.RemoteNamespace, "bait"))

	for _, object := range (chart.Release{Name: "lifecycle-manager", Namespace: harness.ControlPlaneNamespace, Values: map[string]any{
		"temporal": map[string]any{"address": "unused:7233"}, "fullnameOverride": "instance", // the account of the harness
	}}).Objects(t) {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			require.NoError(t, s.ControlPlane.Create(t.Context(), object))
			t.Cleanup(func() { _ = s.ControlPlane.Delete(context.WithoutCancel(t.Context()), object) })
		}
	}
	s.Eventually("the policy of the chart is in force", time.Minute, func(c *assert.CollectT) {
		err := mallory.Create(t.Context(), forged("late", func(*v1beta2.Manifest) {}), client.DryRunAll)
		assert.True(c, apierrors.IsForbidden(err), err)
		assert.ErrorContains(c, err, "only Lifecycle Manager writes the spec of Manifests and RemoteAgents")
	})
	require.True(t, apierrors.IsForbidden(edits(func(m *v1beta2.Manifest) { m.Spec.Version = "9.9.9" })))
	require.NoError(t, edits(func(m *v1beta2.Manifest) { m.Labels["example.com/seen"] = "true" }), "what decides nothing may be changed")
	s.PushModule(harness.MinimalModule{Name: "fine", Version: "1.1.0", Channels: "regular"})
	s.BecomesReady("victim", "fine@1.1.0")
}

// writerOfManifests is a client of somebody who has no right but to write Manifests.
func writerOfManifests(s *harness.Environment) client.Client {
	s.T.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: "mallory"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{shared.OperatorGroup}, Resources: []string{"manifests"}, Verbs: []string{"create", "update"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: "mallory"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "mallory"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"}},
	}
	for _, object := range []client.Object{role, binding} {
		require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), object))
		s.T.Cleanup(func() { _ = s.ControlPlane.Delete(s.T.Context(), object) })
	}
	config := cluster.AdminConfig(s.T, s.ControlPlane.Kubeconfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: "mallory"}
	c, err := client.New(config, client.Options{Scheme: s.ControlPlane.Scheme()})
	require.NoError(s.T, err)
	return c
}

// baitOf is the component of the module bait, and the digest of the layer with its manifest.
func baitOf(s *harness.Environment) (component, layer string) {
	s.T.Helper()
	template := &v1beta2.ModuleTemplate{}
	require.NoError(s.T, s.ControlPlane.Get(s.T.Context(), client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: "bait-1.0.0"}, template))
	var descriptor struct {
		Component struct {
			Name      string `json:"name"`
			Resources []struct {
				Name   string `json:"name"`
				Access struct {
					LocalReference string `json:"localReference"`
				} `json:"access"`
			} `json:"resources"`
		} `json:"component"`
	}
	require.NoError(s.T, json.Unmarshal(template.Spec.Descriptor.Raw, &descriptor))
	for _, resource := range descriptor.Component.Resources {
		if resource.Name == "raw-manifest" {
			return descriptor.Component.Name, resource.Access.LocalReference
		}
	}
	require.Fail(s.T, "the module has no raw-manifest")
	return "", ""
}
