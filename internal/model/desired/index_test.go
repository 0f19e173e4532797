package desired_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestATemplateHasAKeyForEachNameThatMayMeanIt(t *testing.T) {
	template := desiredtest.Template("keda", "1.0.0")
	template.Name = "some-template"
	template.Labels[shared.LabelModuleName] = "scaler"
	require.Equal(t, []string{
		"kcp-system/some-template", "keda", "keda@1.0.0", "kyma-project.io/module/keda", "scaler", "scaler@1.0.0", "some-template",
	}, desired.KeysOfTemplate(template))

	template.Annotations[desired.AnnotationSyncedFrom] = "kcp-system/kyma"
	require.Empty(t, desired.KeysOfTemplate(template), "a synced copy has no keys")
}

func TestATemplateNamedByConventionHasTheKeyOfItsModule(t *testing.T) {
	template := desiredtest.Template("keda", "1.0.0")
	template.Spec.ModuleName = ""
	require.Contains(t, desired.KeysOfTemplate(template), "keda")
	require.Contains(t, desired.KeysOfTemplate(template), "keda@1.0.0")
}

func TestTheComponentNameIsReadInEitherSchema(t *testing.T) {
	template := desiredtest.Template("keda", "1.0.0")
	template.Spec.Descriptor.Raw = []byte(`{"apiVersion":"ocm.software/v3alpha1","kind":"ComponentVersion","metadata":{"name":"a.example/b"}}`)
	require.Equal(t, "a.example/b", desired.EmbeddedComponent(template))
	template.Spec.Descriptor.Raw = []byte(`{}`)
	require.Empty(t, desired.EmbeddedComponent(template))
	template.Spec.Descriptor.Raw = []byte(`not json`)
	require.Empty(t, desired.EmbeddedComponent(template))
	template.Spec.Descriptor = nil
	require.Empty(t, desired.EmbeddedComponent(template))
}

func TestAKymaIsFoundForEachObjectThatConcernsIt(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationExplicit, "fast", v1beta2.Module{Name: "a/b"})
	kyma.Status.Modules = []v1beta2.ModuleStatus{{Name: "old", Template: &v1beta2.TrackedObject{
		Metadata: v1beta2.TrackedMeta{Name: "old-template", Namespace: "kcp-system"},
	}}}
	references := desired.References(kyma)
	require.Equal(t, []string{"@mandatory", "@remote/kyma-uid/a/b", "@remote/kyma-uid/kyma-system/keda", "a/b", "kcp-system/old-template", "keda", "old"}, references)

	concerns := func(keys []string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(references, key) })
	}
	require.True(t, concerns(desired.KeysOfTemplate(desiredtest.Template("keda", "9.0.0"))), "a new version of a listed module")
	require.True(t, concerns(desired.KeysOfReleaseMeta(desiredtest.ReleaseMeta("keda"))))
	require.False(t, concerns(desired.KeysOfTemplate(desiredtest.Template("btp", "1.0.0"))))
	renamed := desiredtest.Template("other", "1.0.0")
	renamed.Name = "old-template"
	require.True(t, concerns(desired.KeysOfTemplate(renamed)), "a template in the status, even if its module name has changed")
}

func TestTheIndexFindsByEveryKey(t *testing.T) {
	index := desired.NewCached(desiredtest.NewCluster("cp",
		desiredtest.Template("keda", "1.0.0"), desiredtest.ChannelTemplate("btp", "fast", "2.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0")))
	for key, want := range map[string]string{
		"keda@1.0.0": "keda-1.0.0", "btp": "btp-fast", "kcp-system/btp-fast": "btp-fast", "kyma-project.io/module/btp": "btp-fast",
	} {
		found, err := index.Templates(context.Background(), key)
		require.NoError(t, err)
		require.Len(t, found, 1, key)
		require.Equal(t, want, found[0].Name)
	}
	found, err := index.ReleaseMetas(context.Background(), "keda")
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestAStaleCacheIsBypassed(t *testing.T) {
	ctx := context.Background()
	cached := desiredtest.Template("keda", "1.0.0")
	cached.ResourceVersion = "99"
	live := desiredtest.Template("keda", "1.0.0")
	live.ResourceVersion = "100"
	live.Generation = 2
	cache, server := desiredtest.NewCluster("cp", cached), desiredtest.NewCluster("cp", live)

	seen := func(version string) []desired.Seen {
		return []desired.Seen{{Kind: "ModuleTemplate", Namespace: "kcp-system", Name: "keda-1.0.0", ResourceVersion: version}}
	}
	shown := func(index desired.Index) []*v1beta2.ModuleTemplate {
		found, err := index.Templates(ctx, "keda@1.0.0")
		require.NoError(t, err)
		return found
	}

	index, err := desired.Fresh(ctx, desired.NewCached(cache), cache, server, seen("99"))
	require.NoError(t, err)
	require.EqualValues(t, 1, shown(index)[0].Generation, "the cache is as new as the seen version")
	require.Empty(t, server.Reads())

	index, err = desired.Fresh(ctx, desired.NewCached(cache), cache, server, seen("100"))
	require.NoError(t, err)
	require.Len(t, shown(index), 1)
	require.EqualValues(t, 2, shown(index)[0].Generation, "the cache is older: 99 is before 100, although not as text")

	require.NoError(t, server.Delete(ctx, live))
	index, err = desired.Fresh(ctx, desired.NewCached(cache), cache, server, seen("101"))
	require.NoError(t, err)
	require.Empty(t, shown(index), "the cache does not know yet that the object was deleted")

	index, err = desired.Fresh(ctx, desired.NewCached(server), server, cache, seen("50"))
	require.NoError(t, err)
	require.Len(t, shown(index), 1, "the cache does not know yet that the object was created")
}
