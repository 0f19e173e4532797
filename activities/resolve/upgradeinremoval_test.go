package resolve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAModuleWaitingForItsDefaultCRDuringRemovalGetsANewerVersion(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*v1beta2.Manifest)
		listed  bool
		version string
		wanted  string
	}{
		"removed from the list":            {version: "1.1.0", wanted: "1.1.0"},
		"listed again meanwhile":           {listed: true, version: "1.1.0", wanted: "1.1.0"},
		"no older version":                 {version: "0.9.0", wanted: "1.0.0"},
		"no older version if listed again": {listed: true, version: "0.9.0", wanted: "1.0.0"},
		"not without a custom resource":    {version: "1.1.0", wanted: "1.0.0", change: func(m *v1beta2.Manifest) { m.Status.DefaultCR = nil }},
		"not if a user created the custom resource": {version: "1.1.0", wanted: "1.0.0", change: func(m *v1beta2.Manifest) {
			m.Spec.CustomResourcePolicy = v1beta2.CustomResourcePolicyIgnore
		}},
		"not if a version is pinned": {version: "1.1.0", wanted: "1.0.0", change: func(m *v1beta2.Manifest) { delete(m.Labels, shared.LabelChannel) }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
			b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template)
			b.reconcile(t)
			m := b.only(t)
			m.Status.InstalledRef, m.Status.DefaultCR = "sha256:1", &v1beta2.DefaultCRRecord{APIVersion: "a/v1", Kind: "Keda", Name: "default", UID: "cr"}
			if test.change != nil {
				test.change(m)
			}
			status := m.Status
			require.NoError(t, b.Cluster.Update(ctx, m))
			m.Status = status
			require.NoError(t, b.Cluster.Status().Update(ctx, m))
			if test.listed {
				require.NoError(t, b.Cluster.Delete(ctx, m))
			} else {
				b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
				require.Len(t, b.reconcile(t).Deleted, 1)
			}
			require.False(t, b.only(t).DeletionTimestamp.IsZero())

			require.NoError(t, b.Cluster.Delete(ctx, template))
			require.NoError(t, b.Cluster.Create(ctx, desiredtest.ChannelTemplate("keda", "regular", test.version)))
			b.reconcile(t)
			now := b.only(t)
			require.Equal(t, test.wanted, now.Spec.Version)
			require.False(t, now.DeletionTimestamp.IsZero())
			require.Equal(t, desired.ManifestFinalizers(), now.Finalizers)
			require.True(t, metav1.IsControlledBy(now, b.read(t)))
			if test.wanted != "1.0.0" {
				require.True(t, desired.IsDecided(now))
				require.False(t, desired.IsEdited(now))
			}
			b.Cluster.Forget()
			b.reconcile(t)
			require.Empty(t, b.Cluster.Writes(), "once is enough")
		})
	}
}
