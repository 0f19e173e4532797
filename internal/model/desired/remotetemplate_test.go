package desired_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func imported(kyma *v1beta2.Kyma, ref string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template("keda", "1.0.0")
	template.Annotations[desired.AnnotationImportedFrom] = ref
	yes := true
	template.OwnerReferences = []metav1.OwnerReference{{Kind: "Kyma", Name: kyma.Name, UID: kyma.UID, Controller: &yes}}
	return template
}

func TestOnlyItsOwnKymaFindsAnImportedTemplate(t *testing.T) {
	kyma := desiredtest.Kyma()
	key := desired.RemoteTemplateKey("kyma-uid", "kyma-system", "mine")
	template := imported(kyma, "kyma-system/mine")
	require.Equal(t, []string{key}, desired.KeysOfTemplate(template))
	require.NotEqual(t, key, desired.RemoteTemplateKey("other-uid", "kyma-system", "mine"))

	ref, ok := desired.ImportedFrom(template)
	require.True(t, ok)
	require.Equal(t, "kyma-system/mine", ref)
	_, ok = desired.ImportedFrom(desiredtest.Template("keda", "1.0.0"))
	require.False(t, ok)

	template.OwnerReferences[0].Controller = nil
	require.Empty(t, desired.KeysOfTemplate(template), "a template without an owner has no keys")
	require.Empty(t, desired.KeysOfTemplate(imported(kyma, "not a name")))
	require.Empty(t, desired.KeysOfTemplate(imported(kyma, "mine")), "the namespace is missing")
}

func TestTheRemoteTemplateOfAModuleEntry(t *testing.T) {
	for name, test := range map[string]struct {
		module   v1beta2.Module
		ref, key string
	}{
		"a name is in the remote namespace": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "mine"}, ref: "kyma-system/mine", key: "@remote/u/kyma-system/mine",
		},
		"a namespace can be given": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "default/mine-1.0.0"}, ref: "default/mine-1.0.0", key: "@remote/u/default/mine-1.0.0",
		},
		"a component name is not a reference":   {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "example.com/a/b"}},
		"an empty namespace is not a reference": {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "/mine"}},
		"a path is not a reference":             {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "default/../x"}},
		"without a reference the name counts":   {module: v1beta2.Module{Name: "default/mine"}, key: "@remote/u/default/mine"},
		"a name that no object can have":        {module: v1beta2.Module{Name: "Mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			namespace, object, ok := desired.RemoteRef(test.module, "kyma-system")
			require.Equal(t, test.ref != "", ok)
			if ok {
				require.Equal(t, test.ref, namespace+"/"+object)
			}
			key, _ := desired.RemoteKey("u", test.module, "kyma-system")
			require.Equal(t, test.key, key)
		})
	}
}

func TestAKymaRefersToTheRemoteTemplatesOfItsEntries(t *testing.T) {
	kyma := desiredtest.Accepted(desiredtest.Kyma("first"), v1beta2.SyncGenerationDefault, "regular",
		v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "mine"})
	require.Subset(t, desired.References(kyma), []string{
		desired.RemoteTemplateKey(kyma.UID, "kyma-system", "mine"), desired.RemoteTemplateKey(kyma.UID, "kyma-system", "first"),
	})
	require.NotContains(t, strings.Join(desired.References(desiredtest.Kyma("first")), " "), "@remote/", "the remote cluster was not read yet")
}

func TestNamesOfImportedTemplatesAreShortAndDiffer(t *testing.T) {
	kyma := desiredtest.Kyma()
	name := desired.ImportedName(kyma, "kyma-system", "mine")
	require.Regexp(t, `^kyma-sample-remote-[0-9a-f]{16}$`, name)
	require.Equal(t, name, desired.ImportedName(kyma, "kyma-system", "mine"))
	require.NotEqual(t, name, desired.ImportedName(kyma, "kyma-system", "other"))
	kyma.UID = "recreated"
	require.NotEqual(t, name, desired.ImportedName(kyma, "kyma-system", "mine"))

	kyma.Name = strings.Repeat("a", 38) + "-" + strings.Repeat("b", 60)
	long := desired.ImportedName(kyma, "kyma-system", "mine")
	require.LessOrEqual(t, len(long), 63)
	require.NotContains(t, long, "--")
}

func TestWhenAnEntryRefersToATemplateOfTheRemoteCluster(t *testing.T) {
	ctx := context.Background()
	kyma := desiredtest.Kyma()
	theirs := desiredtest.ChannelTemplate("foreign", "regular", "1.0.0")
	theirs.Labels[shared.LabelManagedBy] = "other"
	index := desired.NewCached(desiredtest.NewCluster("cp",
		imported(kyma, "kyma-system/mine"), desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), theirs, desiredtest.ReleaseMeta("btp", "regular=1.0.0"),
	))
	for name, test := range map[string]struct {
		module v1beta2.Module
		asked  desired.Asked
		place  string
		found  int
		only   bool
	}{
		"by reference": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "mine"},
			asked:  desired.AskedByReference, place: "kyma-system/mine", found: 1, only: true,
		},
		"by reference to a template that was not imported": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "kyma-system/missing"},
			asked:  desired.AskedByReference, place: "kyma-system/missing", only: true,
		},
		"a reference to a synced copy means the control plane's template": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "kyma-system/keda-regular"},
		},
		"other namespaces have no synced copies": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "default/keda-regular"},
			asked:  desired.AskedByReference, place: "default/keda-regular", only: true,
		},
		"an invalid reference": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "example.com/a/b"}, asked: desired.AskedInvalid, only: true,
		},
		"by a name that the control plane does not know": {
			module: v1beta2.Module{Name: "mine"}, asked: desired.AskedByName, place: "kyma-system/mine", found: 1,
		},
		"by namespace and name": {
			module: v1beta2.Module{Name: "kyma-system/mine"}, asked: desired.AskedByName, place: "kyma-system/mine", found: 1,
		},
		"a module that the control plane has a template for":        {module: v1beta2.Module{Name: "keda"}},
		"the name of a template of the control plane":               {module: v1beta2.Module{Name: "keda-regular"}},
		"that name in the remote namespace":                         {module: v1beta2.Module{Name: "kyma-system/keda-regular"}},
		"a module that the control plane has a release meta for":    {module: v1beta2.Module{Name: "btp"}},
		"a module of another instance is not the remote cluster's":  {module: v1beta2.Module{Name: "foreign"}},
		"a component name, which no ModuleTemplate can be named by": {module: v1beta2.Module{Name: "example.com/a/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			namespace, object, asked, err := desired.AskedRemote(ctx, index, desired.Settings{}, test.module, "kyma-system")
			require.NoError(t, err)
			require.Equal(t, test.asked, asked)
			if test.place != "" {
				require.Equal(t, test.place, namespace+"/"+object)
			}
			templates, only, err := desired.UserProvided(ctx, index, desired.Settings{}, kyma.UID, test.module, "kyma-system")
			require.NoError(t, err)
			require.Len(t, templates, test.found)
			require.Equal(t, test.only, only)

			templates, _, err = desired.UserProvided(ctx, index, desired.Settings{}, "other-uid", test.module, "kyma-system")
			require.NoError(t, err)
			require.Empty(t, templates, "no other Kyma finds the template")
			_, _, asked, err = desired.AskedRemote(ctx, index, desired.Settings{}, test.module, "")
			require.NoError(t, err)
			require.Equal(t, desired.AskedNot, asked, "without a remote cluster")
		})
	}
}
