package watchers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func mandatoryManifest(managedBy string) *v1beta2.Manifest {
	manifest := &v1beta2.Manifest{}
	manifest.Name, manifest.Namespace = "kyma-warden", desiredtest.Namespace
	manifest.Labels = map[string]string{
		shared.LabelMandatoryModule: shared.ValueTrue, shared.LabelModuleName: "warden", shared.LabelManagedBy: managedBy,
	}
	return manifest
}

func TestWhatMakesAModuleMandatoryIsHeldUntilTheModuleIsGone(t *testing.T) {
	ctx := context.Background()
	mandatory := func(name, version string) *v1beta2.ModuleTemplate {
		template := desiredtest.Template("warden", version)
		template.Spec.Mandatory, template.Name = true, name
		return template
	}
	meta := func() *v1beta2.ModuleReleaseMeta {
		meta := desiredtest.ReleaseMeta("warden")
		meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"}
		return meta
	}
	type world struct {
		cluster *desiredtest.Cluster
		watcher *watcher
	}
	start := func(objects ...client.Object) world {
		cluster := desiredtest.NewCluster("cp", objects...)
		return world{cluster, &watcher{Options: Options{Settings: desired.Settings{}.WithDefaults()}, reader: cluster, live: cluster, writer: cluster}}
	}
	hold := func(t *testing.T, w world) bool {
		t.Helper()
		result, err := w.watcher.holdMandatory(ctx, mandatoryRequest{Module: "warden"})
		require.NoError(t, err)
		return result.RequeueAfter > 0
	}
	finalizers := func(t *testing.T, w world, object client.Object) []string {
		t.Helper()
		require.NoError(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(object), object))
		return object.GetFinalizers()
	}
	held := []string{shared.FinalizerMandatoryModule}

	t.Run("a release meta is released when no Manifest of ours is left", func(t *testing.T) {
		meta, manifest := meta(), mandatoryManifest("lifecycle-manager")
		w := start(meta, manifest, desiredtest.Template("warden", "1.0.0"))
		hold(t, w)
		require.Equal(t, held, finalizers(t, w, meta))
		require.NoError(t, w.cluster.Delete(ctx, meta))
		require.True(t, hold(t, w), "the module is still installed")
		require.Equal(t, held, finalizers(t, w, meta))
		require.NoError(t, w.cluster.Delete(ctx, manifest))
		require.False(t, hold(t, w))
		require.Error(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(meta), meta))
	})
	t.Run("what another instance installed does not hold it", func(t *testing.T) {
		meta := meta()
		w := start(meta, mandatoryManifest("another"))
		hold(t, w)
		require.NoError(t, w.cluster.Delete(ctx, meta))
		require.False(t, hold(t, w))
	})
	t.Run("of templates without a release meta only the last one is held", func(t *testing.T) {
		first, second := mandatory("first", "1.0.0"), mandatory("second", "2.0.0")
		w := start(first, second, mandatoryManifest("lifecycle-manager"))
		hold(t, w)
		require.Equal(t, held, finalizers(t, w, first))
		require.NoError(t, w.cluster.Delete(ctx, first))
		require.False(t, hold(t, w))
		require.Error(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(first), first))
		require.NoError(t, w.cluster.Delete(ctx, second))
		require.True(t, hold(t, w))
		require.Equal(t, held, finalizers(t, w, second))
	})
	t.Run("where a release meta decides, templates are free, and know of it before it can be deleted", func(t *testing.T) {
		template := mandatory("template", "1.0.0")
		w := start(meta(), template)
		hold(t, w)
		require.Empty(t, finalizers(t, w, template))
		require.Equal(t, "warden", template.Annotations[desired.AnnotationMandatoryBy])
		require.False(t, desired.MakesMandatory(template))
	})
	t.Run("one that is mandatory no longer is released when the module is gone", func(t *testing.T) {
		meta := meta()
		w := start(meta, mandatoryManifest("lifecycle-manager"))
		hold(t, w)
		finalizers(t, w, meta)
		meta.Spec.Mandatory = nil
		require.NoError(t, w.cluster.Update(ctx, meta))
		require.True(t, hold(t, w))
		require.NoError(t, w.cluster.Delete(ctx, mandatoryManifest("lifecycle-manager")))
		hold(t, w)
		require.Empty(t, finalizers(t, w, meta))
	})
	t.Run("those of other instances are left alone", func(t *testing.T) {
		meta := meta()
		meta.Labels[shared.LabelManagedBy] = "another"
		w := start(meta)
		hold(t, w)
		require.Empty(t, finalizers(t, w, meta))
	})
}

func TestATemplateOfAMandatoryModuleConcernsEveryKyma(t *testing.T) {
	meta := desiredtest.ReleaseMeta("warden")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"}
	cluster := desiredtest.NewCluster("cp", meta)
	w := &watcher{reader: cluster}
	require.Contains(t, w.keysOfTemplate(context.Background(), desiredtest.Template("warden", "1.0.0")), desired.MandatoryKey)
	require.NotContains(t, w.keysOfTemplate(context.Background(), desiredtest.Template("keda", "1.0.0")), desired.MandatoryKey)
}
