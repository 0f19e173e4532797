package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// Two instances share a control plane, each with a Temporal namespace of its own: each takes the Kymas and the
// catalog that are labelled as its own, and touches nothing of the other's.
func TestTwoInstancesShareAControlPlane(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // else a pass takes minutes where both Kymas are in one shard
	second := *s
	second.Namespace, second.Temporal = s.NewTemporalNamespace()
	second.Instance = second.NewInstance("--managed-by", "second", "--namespaces", harness.ControlPlaneNamespace+",second-catalog")
	// Its Kymas are deleted by the environment, which both must serve, so this runs after that.
	t.Cleanup(second.Instance.Stop)
	t.Cleanup(s.DeleteEverything)

	s.PushMinimal("shared")
	s.EnsureNamespace(s.ControlPlane, "second-catalog")
	t.Cleanup(func() { s.DeleteCatalogIn(context.Background(), "second-catalog") })
	s.PushModule(harness.MinimalModule{Name: "shared", Version: "2.0.0", Channels: "regular", Namespace: "second-catalog"})
	labelCatalog(t, s, "second-catalog", "second")
	s.Instance.Start()
	second.Instance.Start()

	s.Create(harness.NewSynced("of-first", "shared"))
	labelled := harness.NewSynced("of-second", "shared")
	labelled.Labels = map[string]string{shared.LabelManagedBy: "second"}
	s.Create(labelled)
	s.BecomesReady("of-first", "shared@1.0.0")
	s.BecomesReady("of-second", "shared@2.0.0")

	require.Equal(t, "lifecycle-manager", s.Kyma("of-first").Labels[shared.LabelManagedBy], "what had no label is labelled")
	for kyma, managedBy := range map[string]string{"of-first": "lifecycle-manager", "of-second": "second"} {
		manifests := s.Manifests(s.Kyma(kyma))
		require.Len(t, manifests, 1)
		require.Equal(t, managedBy, manifests[0].Labels[shared.LabelManagedBy])
	}
	require.Empty(t, s.WorkflowOf(s.Kyma("of-second")), "the first instance has no workflow for the Kyma of the second")
	require.Empty(t, second.WorkflowOf(s.Kyma("of-first")))

	// The one is gone: the other does not step in.
	second.Instance.Stop()
	harness.Edit(t, s.ControlPlane, s.Kyma("of-second"), func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	harness.Edit(t, s.ControlPlane, s.Kyma("of-first"), func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	s.BecomesReady("of-first")
	s.Sweeps(t, 1)
	require.Len(t, s.Manifests(s.Kyma("of-second")), 1)
	require.Equal(t, "2.0.0", s.MinimalVersion("of-second", "shared"))
	second.Instance.Start()
	s.BecomesReady("of-second")
}

// labelCatalog labels the catalog in a namespace as an instance's.
func labelCatalog(t *testing.T, s *harness.Environment, namespace, managedBy string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+shared.LabelManagedBy+`":"`+managedBy+`"}}}`))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, s.ControlPlane.List(t.Context(), &templates, client.InNamespace(namespace)))
	require.NotEmpty(t, templates.Items)
	for i := range templates.Items {
		require.NoError(t, s.ControlPlane.Patch(t.Context(), &templates.Items[i], patch))
	}
	var metas v1beta2.ModuleReleaseMetaList
	require.NoError(t, s.ControlPlane.List(t.Context(), &metas, client.InNamespace(namespace)))
	require.NotEmpty(t, metas.Items)
	for i := range metas.Items {
		require.NoError(t, s.ControlPlane.Patch(t.Context(), &metas.Items[i], patch))
	}
}
