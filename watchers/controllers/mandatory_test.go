package controllers

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func mandatoryManifest(managedBy string) *v1beta2.Manifest {
	manifest := &v1beta2.Manifest{}
	manifest.Name, manifest.Namespace = "kyma-warden", desiredtest.Namespace
	manifest.Labels = map[string]string{
		shared.LabelMandatoryModule: shared.ValueTrue, shared.LabelModuleName: "warden", shared.LabelManagedBy: managedBy,
	}
	return manifest
}

func TestTheFinalizerOfAMandatoryModuleStaysUntilTheModuleIsGone(t *testing.T) {
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
	type fixture struct {
		cluster     *desiredtest.Cluster
		controllers *controllers
	}
	start := func(objects ...client.Object) fixture {
		cluster := desiredtest.NewCluster("cp", objects...)
		return fixture{cluster, &controllers{settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster}}
	}
	reconcile := func(t *testing.T, w fixture) bool {
		t.Helper()
		result, err := w.controllers.reconcileMandatory(ctx, mandatoryRequest{Module: "warden"})
		require.NoError(t, err)
		return result.RequeueAfter > 0
	}
	finalizers := func(t *testing.T, w fixture, object client.Object) []string {
		t.Helper()
		require.NoError(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(object), object))
		return object.GetFinalizers()
	}
	kept := []string{shared.FinalizerMandatoryModule}

	t.Run("a release meta is released when no Manifest of ours is left", func(t *testing.T) {
		meta, manifest := meta(), mandatoryManifest("lifecycle-manager")
		w := start(meta, manifest, desiredtest.Template("warden", "1.0.0"))
		reconcile(t, w)
		require.Equal(t, kept, finalizers(t, w, meta))
		require.NoError(t, w.cluster.Delete(ctx, meta))
		require.True(t, reconcile(t, w), "the module is still installed")
		require.Equal(t, kept, finalizers(t, w, meta))
		require.NoError(t, w.cluster.Delete(ctx, manifest))
		require.False(t, reconcile(t, w))
		require.Error(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(meta), meta))
	})
	t.Run("what another instance installed does not keep it", func(t *testing.T) {
		meta := meta()
		w := start(meta, mandatoryManifest("another"))
		reconcile(t, w)
		require.NoError(t, w.cluster.Delete(ctx, meta))
		require.False(t, reconcile(t, w))
	})
	t.Run("of templates without a release meta only the last one is kept", func(t *testing.T) {
		first, second := mandatory("first", "1.0.0"), mandatory("second", "2.0.0")
		w := start(first, second, mandatoryManifest("lifecycle-manager"))
		reconcile(t, w)
		require.Equal(t, kept, finalizers(t, w, first))
		require.NoError(t, w.cluster.Delete(ctx, first))
		require.False(t, reconcile(t, w))
		require.Error(t, w.cluster.Get(ctx, client.ObjectKeyFromObject(first), first))
		require.NoError(t, w.cluster.Delete(ctx, second))
		require.True(t, reconcile(t, w))
		require.Equal(t, kept, finalizers(t, w, second))
	})
	t.Run("if a release meta decides, templates are released, and marked before the release meta can be deleted", func(t *testing.T) {
		template := mandatory("template", "1.0.0")
		w := start(meta(), template)
		reconcile(t, w)
		require.Empty(t, finalizers(t, w, template))
		require.Equal(t, "warden", template.Annotations[desired.AnnotationMandatoryBy])
		require.False(t, desired.MakesMandatory(template))
	})
	t.Run("an object that is no longer mandatory is released when the module is gone", func(t *testing.T) {
		meta := meta()
		w := start(meta, mandatoryManifest("lifecycle-manager"))
		reconcile(t, w)
		finalizers(t, w, meta)
		meta.Spec.Mandatory = nil
		require.NoError(t, w.cluster.Update(ctx, meta))
		require.True(t, reconcile(t, w))
		require.NoError(t, w.cluster.Delete(ctx, mandatoryManifest("lifecycle-manager")))
		reconcile(t, w)
		require.Empty(t, finalizers(t, w, meta))
	})
	t.Run("those of other instances are left unchanged", func(t *testing.T) {
		meta := meta()
		meta.Labels[shared.LabelManagedBy] = "another"
		w := start(meta)
		reconcile(t, w)
		require.Empty(t, finalizers(t, w, meta))
	})
}

// strictReader refuses selectors like the API server does.
type strictReader struct{ client.Reader }

func (r strictReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if asked.LabelSelector != nil {
		if _, err := labels.Parse(asked.LabelSelector.String()); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return r.Reader.List(ctx, list, options...)
}

// A module's name may be longer than a label value. A template's name, used in its place, may be much longer.
func TestAMandatoryModuleWithAnOverlongNameIsReleasedWhenItIsGone(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("a", 64)
	named := desiredtest.Template("warden", "1.0.0")
	named.Name, named.Spec.ModuleName, named.Spec.Mandatory = "short", long, true
	delete(named.Labels, shared.LabelModuleName)
	nameless := desiredtest.Template("warden", "")
	nameless.Name, nameless.Spec.ModuleName, nameless.Spec.Mandatory = long, "", true
	delete(nameless.Labels, shared.LabelModuleName)
	for name, template := range map[string]*v1beta2.ModuleTemplate{"a module's": named, "a template's": nameless} {
		t.Run(name, func(t *testing.T) {
			others, manifest := mandatoryManifest("lifecycle-manager"), mandatoryManifest("lifecycle-manager")
			others.Name = "kyma-other"
			manifest.Labels[shared.LabelModuleName] = "short"
			manifest.Annotations = map[string]string{desired.AnnotationModuleEntry: long}
			cluster := desiredtest.NewCluster("cp", template, manifest, others)
			w := &controllers{
				settings: desired.Settings{}.WithDefaults(), reader: cluster, live: strictReader{cluster}, writer: cluster,
			}
			reconcile := func() bool {
				result, err := w.reconcileMandatory(ctx, mandatoryRequest{Module: long})
				require.NoError(t, err)
				return result.RequeueAfter > 0
			}
			require.False(t, reconcile())
			require.NoError(t, cluster.Delete(ctx, template))
			require.True(t, reconcile(), "the module is still installed")
			require.NoError(t, cluster.Delete(ctx, manifest))
			require.False(t, reconcile())
			require.Error(t, cluster.Get(ctx, client.ObjectKeyFromObject(template), template))
		})
	}
}
