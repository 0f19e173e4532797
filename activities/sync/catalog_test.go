package sync

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func remoteTemplate(t *testing.T, b *bench, name string) *v1beta2.ModuleTemplate {
	t.Helper()
	template := &v1beta2.ModuleTemplate{}
	require.NoError(t, b.remote.Get(context.Background(), types.NamespacedName{Namespace: "kyma-system", Name: name}, template))
	return template
}

func TestTheCatalogFollowsTheControlPlane(t *testing.T) {
	ctx := context.Background()
	source := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	source.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, source, desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.sync(t)
	copied := remoteTemplate(t, b, "keda-regular")
	require.Equal(t, source.Spec.Channel, copied.Spec.Channel)
	require.JSONEq(t, string(source.Spec.Descriptor.Raw), string(copied.Spec.Descriptor.Raw))
	require.Equal(t, "keda", copied.Labels[shared.LabelModuleName])
	require.Equal(t, "kyma", copied.Labels[shared.LabelManagedBy])
	require.NotContains(t, copied.Annotations, "kubectl.kubernetes.io/last-applied-configuration")

	require.NoError(t, b.control.Get(ctx, client.ObjectKeyFromObject(source), source))
	source.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("keda"), "1.1.0")
	require.NoError(t, b.control.Update(ctx, source))
	b.forget()
	b.sync(t)
	require.Equal(t, []string{"apply ModuleTemplate keda-regular"}, b.remote.Writes(), "one difference costs one write")
	require.Contains(t, string(remoteTemplate(t, b, "keda-regular").Spec.Descriptor.Raw), "1.1.0")

	require.NoError(t, b.control.Get(ctx, client.ObjectKeyFromObject(source), source))
	source.Labels[shared.LabelInternal] = "true"
	require.NoError(t, b.control.Update(ctx, source))
	b.forget()
	b.sync(t)
	require.Equal(t, []string{"delete ModuleTemplate keda-regular"}, b.remote.Writes(), "the module is no longer allowed")
}

func TestAModuleLeavesTheCatalogWithItsReleaseMeta(t *testing.T) {
	ctx := context.Background()
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), meta, desiredtest.ChannelTemplate("btp", "regular", "1.0.0"))
	b.sync(t)
	remoteTemplate(t, b, "keda-1.0.0")

	require.NoError(t, b.control.Delete(ctx, meta))
	b.forget()
	b.sync(t)
	require.ElementsMatch(t, []string{"delete ModuleTemplate keda-1.0.0", "delete ModuleReleaseMeta keda"}, b.remote.Writes())
	remoteTemplate(t, b, "btp-regular")

	require.NoError(t, b.control.Create(ctx, desiredtest.ReleaseMeta("keda", "regular=1.0.0")))
	b.sync(t)
	remoteTemplate(t, b, "keda-1.0.0")
}

func TestTheCopyOfAReleaseMetaHasOnlyTheChannelsThatTheKymaMayHave(t *testing.T) {
	ctx := context.Background()
	fast := desiredtest.Template("keda", "2.0.0")
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.Template("keda", "1.0.0"), fast,
		desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0", "none-yet=3.0.0"))
	offered := func() string {
		t.Helper()
		copied := &v1beta2.ModuleReleaseMeta{}
		require.NoError(t, b.remote.Get(ctx, types.NamespacedName{Namespace: "kyma-system", Name: "keda"}, copied))
		require.Equal(t, desired.ChannelsColumn(copied), copied.Annotations[shared.AnnotationChannels], "its column shows the same channels")
		return desired.ChannelsColumn(copied)
	}
	b.sync(t)
	require.Equal(t, "fast=2.0.0 regular=1.0.0", offered(), "a version without a template cannot be requested")

	relabel := func(value string) {
		require.NoError(t, b.control.Get(ctx, client.ObjectKeyFromObject(fast), fast))
		metav1.SetMetaDataLabel(&fast.ObjectMeta, shared.LabelBeta, value)
		require.NoError(t, b.control.Update(ctx, fast))
		b.forget()
		b.sync(t)
	}
	relabel("true")
	require.ElementsMatch(t, []string{"apply ModuleReleaseMeta keda", "delete ModuleTemplate keda-2.0.0"}, b.remote.Writes())
	require.Equal(t, "regular=1.0.0", offered())
	relabel("false")
	require.Equal(t, "fast=2.0.0 regular=1.0.0", offered())
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())
}

// These marks are set and removed around each held removal, and a whole fleet of remote clusters would get them.
func TestMarksOfTheControlPlaneAreNotWrittenIntoTheCatalog(t *testing.T) {
	ctx := context.Background()
	template := desiredtest.Template("keda", "1.0.0")
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, template, desiredtest.ReleaseMeta("keda", "regular=1.0.0"))
	b.sync(t)
	require.NoError(t, b.control.Get(ctx, client.ObjectKeyFromObject(template), template))
	for _, mark := range []string{
		desired.AnnotationGuardedRemoval, desired.AnnotationGuardedChange, desired.AnnotationApprovedRemoval, desired.AnnotationMandatoryBy,
	} {
		metav1.SetMetaDataAnnotation(&template.ObjectMeta, mark, "1")
	}
	require.NoError(t, b.control.Update(ctx, template))
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, "example.com/of-others", "1")
	require.NoError(t, b.control.Update(ctx, template))
	b.sync(t)
	require.Equal(t, "1", remoteTemplate(t, b, template.Name).Annotations["example.com/of-others"])
	require.NotContains(t, remoteTemplate(t, b, template.Name).Annotations, desired.AnnotationGuardedRemoval)
}

func TestAnEditInTheRemoteCatalogIsReverted(t *testing.T) {
	ctx := context.Background()
	for name, edit := range map[string]func(*v1beta2.ModuleTemplate){
		"a changed spec":        func(m *v1beta2.ModuleTemplate) { m.Spec.Channel = "fast" },
		"a label of the source": func(m *v1beta2.ModuleTemplate) { m.Labels[shared.LabelModuleName] = "other" },
		"our digest":            func(m *v1beta2.ModuleTemplate) { m.Annotations[shared.AnnotationAppliedDigest] = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
			b.sync(t)
			copied := remoteTemplate(t, b, "keda-regular")
			edit(copied)
			require.NoError(t, b.remote.Update(ctx, copied, client.FieldOwner("kubectl")))
			b.sync(t)
			copied = remoteTemplate(t, b, "keda-regular")
			require.Equal(t, "regular", copied.Spec.Channel)
			require.Equal(t, "keda", copied.Labels[shared.LabelModuleName])
			b.forget()
			b.sync(t)
			require.Empty(t, b.remote.Writes(), "the next synchronization writes nothing")
		})
	}
}

func TestObjectsOfOthersInTheRemoteCatalogStayUnchanged(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	userProvided := func(name string) *v1beta2.ModuleTemplate {
		template := desiredtest.ChannelTemplate("mine", "regular", "9.0.0")
		template.Name, template.Namespace, template.UID = name, "kyma-system", types.UID(name)
		return template
	}
	definitions, err := crds.Get(crds.ModuleTemplates)
	require.NoError(t, err)
	require.NoError(t, b.remote.Create(ctx, definitions[0]))
	require.NoError(t, b.remote.Create(ctx, userProvided("keda-regular")))
	require.NoError(t, b.remote.Create(ctx, userProvided("own")))
	otherKymas := userProvided("others")
	otherKymas.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/other"
	require.NoError(t, b.remote.Create(ctx, otherKymas))
	imitated := userProvided("imitated")
	imitated.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/kyma-sample"
	require.NoError(t, b.remote.Create(ctx, imitated))
	result := b.sync(t)
	require.Equal(t, fault.Rejected, result.Faults[fault.PartCatalog].Kind)
	require.Contains(t, result.Faults[fault.PartCatalog].Message, "objects of its own with names of the catalog, rename or delete them: [ModuleTemplate keda-regular]")
	for _, name := range []string{"keda-regular", "own", "others", "imitated"} {
		require.Equal(t, "mine", remoteTemplate(t, b, name).Labels[shared.LabelModuleName], name)
	}
}

func TestTheCatalogCanBeSwitchedOff(t *testing.T) {
	ctx := context.Background()
	on, off := true, false
	kyma := desiredtest.Kyma()
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, ModuleCatalog: &off, Namespace: "kyma-system"}
	b := newBench(t, kyma, desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	require.True(t, b.sync(t).CatalogOff)
	for _, request := range b.remote.Writes() {
		require.NotContains(t, strings.TrimPrefix(request, "create CustomResourceDefinition"), "ModuleTemplate")
	}

	set := func(catalog *bool) {
		kyma := b.kyma(t)
		kyma.Spec.Sync.ModuleCatalog = catalog
		require.NoError(t, b.control.Update(ctx, kyma))
		b.forget()
	}
	set(&on)
	require.False(t, b.sync(t).CatalogOff)
	require.NotNil(t, remoteTemplate(t, b, "keda-regular"))
	userProvided := desiredtest.ChannelTemplate("mine", "regular", "9.0.0")
	userProvided.Namespace = "kyma-system"
	require.NoError(t, b.remote.Create(ctx, userProvided))

	set(&off)
	require.True(t, b.sync(t).CatalogOff)
	require.Equal(t, []string{"delete ModuleTemplate keda-regular"}, b.remote.Writes(), "only our copies are deleted")
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())
}

func TestTheNextKymaOwnsTheCatalogOfAKymaThatIsGone(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.sync(t)
	earlier := func(name string) {
		// As an earlier Kyma's synchronization applied it.
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindModuleTemplate))
		object.SetName(name)
		object.SetNamespace("kyma-system")
		object.SetLabels(map[string]string{shared.LabelManagedBy: shared.ManagedByKyma})
		object.SetAnnotations(map[string]string{shared.AnnotationAppliedDigest: "old", desired.AnnotationSyncedFrom: "kcp-system/earlier"})
		require.NoError(t, b.remote.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
			client.FieldOwner(shared.FieldManagerCatalog), client.ForceOwnership))
	}
	other := desiredtest.Kyma()
	other.Name, other.UID = "earlier", "earlier-uid"
	require.NoError(t, b.control.Create(ctx, other))
	other.Status = otherKyma("remote-uid").Status
	require.NoError(t, b.control.Status().Update(ctx, other))
	earlier("keda-regular")
	earlier("abandoned")
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes(), "that Kyma exists, and shares the namespace")

	require.NoError(t, b.control.Delete(ctx, other))
	b.forget()
	require.True(t, b.sync(t).Faults[fault.PartCatalog].IsZero())
	require.Contains(t, string(remoteTemplate(t, b, "keda-regular").Spec.Descriptor.Raw), "1.0.0")
	require.Contains(t, b.remote.Writes(), "delete ModuleTemplate abandoned")
	b.forget()
	b.sync(t)
	require.Empty(t, b.remote.Writes())
}

func TestACopyWithClearedFieldManagersIsOursAgain(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.sync(t)
	copied := remoteTemplate(t, b, "keda-regular")
	require.NoError(t, b.remote.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))))
	require.False(t, catalog.IsApplied(&metav1.PartialObjectMetadata{ObjectMeta: remoteTemplate(t, b, "keda-regular").ObjectMeta}))
	b.sync(t)
	require.True(t, catalog.IsApplied(&metav1.PartialObjectMetadata{ObjectMeta: remoteTemplate(t, b, "keda-regular").ObjectMeta}))
}
