package resolve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// mandatoryTemplate returns a template with the label that makes its module mandatory.
func mandatoryTemplate(module, version string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template(module, version)
	template.Spec.Mandatory = true
	template.Labels[shared.LabelMandatoryModule] = shared.ValueTrue
	return template
}

func mandatoryMeta(module, version string) *v1beta2.ModuleReleaseMeta {
	meta := desiredtest.ReleaseMeta(module)
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: version}
	return meta
}

// offer turns a mandatory module into a module that Kymas may list.
func (b *bench) offer(t *testing.T, meta *v1beta2.ModuleReleaseMeta) {
	t.Helper()
	require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	meta.Spec.Mandatory = nil
	meta.Spec.Channels = []v1beta2.ChannelVersion{{Channel: "regular", Version: "1.0.0"}}
	require.NoError(t, b.Cluster.Update(context.Background(), meta))
}

func TestEveryKymaHasTheMandatoryModules(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, mandatoryTemplate("warden", "1.9.0"), mandatoryTemplate("warden", "1.10.0"))
	require.Len(t, b.reconcile(t).Created, 1)
	manifest := b.only(t)
	require.Equal(t, "1.10.0", manifest.Spec.Version, "the highest version wins")
	require.Equal(t, "true", manifest.Labels[shared.LabelMandatoryModule])
	require.Equal(t, "warden", manifest.Labels[shared.LabelModuleName])
	require.NotContains(t, manifest.Labels, shared.LabelChannel)
	b.Cluster.Forget()
	b.reconcile(t)
	require.Empty(t, b.Cluster.Writes())
}

func TestAReleaseMetaDecidesTheVersionOfAMandatoryModule(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{},
		desiredtest.Template("warden", "1.9.0"), mandatoryTemplate("warden", "1.10.0"), mandatoryMeta("warden", "1.9.0"))
	b.reconcile(t)
	require.Equal(t, "1.9.0", b.only(t).Spec.Version)
}

func TestBuildMetadataOfAMandatoryVersionIsIgnored(t *testing.T) {
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.Template("warden", "1.9.0"), mandatoryMeta("warden", "1.9.0+build.1"))
	b.reconcile(t)
	require.Equal(t, "1.9.0", b.only(t).Spec.Version)
}

func TestAListedMandatoryModuleIsRefusedAndInstalledOnce(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("warden"), desired.Settings{}, mandatoryTemplate("warden", "1.0.0"))
	result := b.reconcile(t)
	require.Equal(t, 1, result.Refused)
	require.Equal(t, "true", b.only(t).Labels[shared.LabelMandatoryModule])
	require.Empty(t, b.reconcile(t).Deleted)
}

func TestAMandatoryModuleIsRemovedOnlyIfItsCauseIsSeenBeingDeleted(t *testing.T) {
	ctx := context.Background()
	vanish := func(t *testing.T, b *bench, objects ...client.Object) {
		t.Helper()
		for _, object := range objects {
			require.NoError(t, b.Cluster.Delete(ctx, object))
		}
	}
	t.Run("a template that is gone without a trace removes nothing", func(t *testing.T) {
		template := mandatoryTemplate("warden", "1.0.0")
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, template)
		b.reconcile(t)
		vanish(t, b, template)
		require.Empty(t, b.reconcile(t).Deleted)
	})
	t.Run("the last template removes it while it is being deleted", func(t *testing.T) {
		first, second := mandatoryTemplate("warden", "1.0.0"), mandatoryTemplate("warden", "2.0.0")
		first.Finalizers, second.Finalizers = []string{shared.FinalizerMandatoryModule}, []string{shared.FinalizerMandatoryModule}
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, first, second)
		b.reconcile(t)
		vanish(t, b, first)
		require.Empty(t, b.reconcile(t).Deleted, "the other template still makes it mandatory")
		vanish(t, b, second)
		require.Len(t, b.reconcile(t).Deleted, 1)
	})
	t.Run("a release meta that is being deleted removes it", func(t *testing.T) {
		meta := mandatoryMeta("warden", "1.0.0")
		meta.Finalizers = []string{shared.FinalizerMandatoryModule}
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, desiredtest.Template("warden", "1.0.0"))
		b.reconcile(t)
		vanish(t, b, meta)
		require.Len(t, b.reconcile(t).Deleted, 1)
	})
	t.Run("a release meta that is gone without a trace removes nothing", func(t *testing.T) {
		meta := mandatoryMeta("warden", "1.0.0")
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, desiredtest.Template("warden", "1.0.0"))
		b.reconcile(t)
		vanish(t, b, meta)
		require.Empty(t, b.reconcile(t).Deleted, "a template without the mandatory label proves nothing")
	})
	t.Run("a template with the mandatory label takes over from a deleted release meta", func(t *testing.T) {
		meta := mandatoryMeta("warden", "1.0.0")
		meta.Finalizers = []string{shared.FinalizerMandatoryModule}
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, mandatoryTemplate("warden", "1.0.0"))
		b.reconcile(t)
		vanish(t, b, meta)
		require.Empty(t, b.reconcile(t).Deleted)
	})
	t.Run("a template governed by a release meta does not take over", func(t *testing.T) {
		meta, template := mandatoryMeta("warden", "1.0.0"), mandatoryTemplate("warden", "1.0.0")
		meta.Finalizers = []string{shared.FinalizerMandatoryModule}
		template.Annotations[desired.AnnotationMandatoryBy] = meta.Name
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, template)
		require.Len(t, b.reconcile(t).Created, 1)
		vanish(t, b, meta)
		require.Len(t, b.reconcile(t).Deleted, 1)
		require.Empty(t, b.reconcile(t).Created)
	})
	t.Run("a release meta that offers it in channels removes it", func(t *testing.T) {
		meta := mandatoryMeta("warden", "1.0.0")
		b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, desiredtest.Template("warden", "1.0.0"))
		b.reconcile(t)
		b.offer(t, meta)
		require.Len(t, b.reconcile(t).Deleted, 1)
	})
}

func TestAListedModuleThatIsNoLongerMandatoryStaysAsAnOrdinaryModule(t *testing.T) {
	meta := mandatoryMeta("warden", "1.0.0")
	b := newBench(t, desiredtest.Kyma("warden"), desired.Settings{}, meta, desiredtest.Template("warden", "1.0.0"))
	b.reconcile(t)
	uid := b.only(t).UID
	b.offer(t, meta)
	require.Empty(t, b.reconcile(t).Deleted)
	manifest := b.only(t)
	require.Equal(t, uid, manifest.UID)
	require.NotContains(t, manifest.Labels, shared.LabelMandatoryModule)
	require.Equal(t, "regular", manifest.Labels[shared.LabelChannel])
}

func TestMandatoryTemplatesRelatedOnlyByNameAreOneModule(t *testing.T) {
	unnamed := func(version string) *v1beta2.ModuleTemplate {
		template := mandatoryTemplate("warden", version)
		template.Spec.ModuleName = ""
		return template
	}
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, unnamed("1.0.0"), unnamed("2.0.0"))
	b.reconcile(t)
	require.Equal(t, "2.0.0", b.only(t).Spec.Version)
}

func TestAMandatoryModuleOfAnotherControllerIsNotInstalled(t *testing.T) {
	template := desiredtest.Template("warden", "1.0.0")
	template.Labels[shared.LabelControllerName] = "another"
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, mandatoryMeta("warden", "1.0.0"), template)
	require.Equal(t, 1, b.reconcile(t).Refused)
	require.Empty(t, b.manifests(t))
}

// The object that made a module mandatory stays an input while the removal is held, because the approval is noted on it.
func TestTheApprovalOfAMandatoryModulesRemovalIsAChangeOfInputs(t *testing.T) {
	meta := mandatoryMeta("warden", "1.0.0")
	meta.Finalizers = []string{shared.FinalizerMandatoryModule}
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, meta, desiredtest.Template("warden", "1.0.0"))
	b.reconcile(t)
	require.NoError(t, b.Cluster.Delete(context.Background(), meta))
	before := b.reconcile(t).InputsDigest
	require.NoError(t, b.Cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	require.Contains(t, desired.KeysOfReleaseMeta(meta), desired.MandatoryKey)
	meta.Annotations = map[string]string{desired.AnnotationApprovedRemoval: "7"}
	require.NoError(t, b.Cluster.Update(context.Background(), meta))
	require.NotEqual(t, before, b.reconcile(t).InputsDigest)
}
