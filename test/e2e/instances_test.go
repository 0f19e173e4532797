package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Two instances share a control plane, each with a Temporal namespace of its own: each takes the Kymas and the
// catalog that are labelled as its own, and touches nothing of the other's.
func TestTwoInstancesShareAControlPlane(t *testing.T) {
	s := newStage(t)
	second := *s
	second.namespace, second.temporal = s.newTemporalNamespace()
	second.instance = &instance{t: t, stage: &second, flags: []string{"--managed-by", "second"}}
	// Its Kymas are deleted by the stage, which both must serve, so this runs after that.
	t.Cleanup(second.instance.stop)
	t.Cleanup(s.deleteEverything)

	s.pushTiny("shared")
	s.ensureNamespace(s.controlPlane, "second-catalog")
	t.Cleanup(func() { s.deleteCatalogIn(context.Background(), "second-catalog") })
	s.pushOne(tiny{name: "shared", version: "2.0.0", channels: "regular", namespace: "second-catalog"})
	s.labelCatalog(t, "second-catalog", "second")
	s.instance.start()
	second.instance.start()

	s.create(newSynced("of-first", "shared"))
	labelled := newSynced("of-second", "shared")
	labelled.Labels = map[string]string{shared.LabelManagedBy: "second"}
	s.create(labelled)
	s.becomesReady("of-first", "shared@1.0.0")
	s.becomesReady("of-second", "shared@2.0.0")

	require.Equal(t, "lifecycle-manager", s.kyma("of-first").Labels[shared.LabelManagedBy], "what had no label is labelled")
	for kyma, managedBy := range map[string]string{"of-first": "lifecycle-manager", "of-second": "second"} {
		manifests := s.manifests(s.kyma(kyma))
		require.Len(t, manifests, 1)
		require.Equal(t, managedBy, manifests[0].Labels[shared.LabelManagedBy])
	}
	require.Empty(t, s.workflowsOf(s.kyma("of-second")), "the first instance has no workflow for the Kyma of the second")
	require.Empty(t, second.workflowsOf(s.kyma("of-first")))

	// The one is gone: the other does not step in.
	second.instance.stop()
	edit(t, s.controlPlane, s.kyma("of-second"), func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	edit(t, s.controlPlane, s.kyma("of-first"), func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	s.becomesReady("of-first")
	s.sweeps(t, 1)
	require.Len(t, s.manifests(s.kyma("of-second")), 1)
	require.Equal(t, "2.0.0", s.tinyVersion("of-second", "shared"))
	second.instance.start()
	s.becomesReady("of-second")
}

// labelCatalog makes everything that is announced in a namespace an instance's.
func (s *stage) labelCatalog(t *testing.T, namespace, managedBy string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+shared.LabelManagedBy+`":"`+managedBy+`"}}}`))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, s.controlPlane.List(t.Context(), &templates, client.InNamespace(namespace)))
	require.NotEmpty(t, templates.Items)
	for i := range templates.Items {
		require.NoError(t, s.controlPlane.Patch(t.Context(), &templates.Items[i], patch))
	}
	var metas v1beta2.ModuleReleaseMetaList
	require.NoError(t, s.controlPlane.List(t.Context(), &metas, client.InNamespace(namespace)))
	require.NotEmpty(t, metas.Items)
	for i := range metas.Items {
		require.NoError(t, s.controlPlane.Patch(t.Context(), &metas.Items[i], patch))
	}
}
