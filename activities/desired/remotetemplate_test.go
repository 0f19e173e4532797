package desired_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func takenIn(kyma *v1beta2.Kyma, ref string) *v1beta2.ModuleTemplate {
	template := desiredtest.Template("keda", "1.0.0")
	template.Annotations[desired.AnnotationTakenFrom] = ref
	yes := true
	template.OwnerReferences = []metav1.OwnerReference{{Kind: "Kyma", Name: kyma.Name, UID: kyma.UID, Controller: &yes}}
	return template
}

func TestATakenInTemplateAnswersToItsOwnKymaOnly(t *testing.T) {
	kyma := desiredtest.Kyma()
	key := desired.RemoteTemplateKey("kyma-uid", "kyma-system", "mine")
	template := takenIn(kyma, "kyma-system/mine")
	require.Equal(t, []string{key}, desired.KeysOfTemplate(template))
	require.NotEqual(t, key, desired.RemoteTemplateKey("other-uid", "kyma-system", "mine"))

	ref, ok := desired.TakenFrom(template)
	require.True(t, ok)
	require.Equal(t, "kyma-system/mine", ref)
	_, ok = desired.TakenFrom(desiredtest.Template("keda", "1.0.0"))
	require.False(t, ok)

	template.OwnerReferences[0].Controller = nil
	require.Empty(t, desired.KeysOfTemplate(template), "without an owner it serves nobody")
	require.Empty(t, desired.KeysOfTemplate(takenIn(kyma, "not a name")))
	require.Empty(t, desired.KeysOfTemplate(takenIn(kyma, "mine")), "it does not say which namespace")
}

func TestWhichRemoteTemplateAModuleEntryMeans(t *testing.T) {
	for name, test := range map[string]struct {
		module   v1beta2.Module
		ref, key string
	}{
		"a name is one of the remote namespace": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "mine"}, ref: "kyma-system/mine", key: "@remote/u/kyma-system/mine",
		},
		"a namespace can be given": {
			module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "default/mine-1.0.0"}, ref: "default/mine-1.0.0", key: "@remote/u/default/mine-1.0.0",
		},
		"a component name is none":              {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "example.com/a/b"}},
		"an empty namespace is none":            {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "/mine"}},
		"a path is none":                        {module: v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "default/../x"}},
		"without a reference the name may mean": {module: v1beta2.Module{Name: "default/mine"}, key: "@remote/u/default/mine"},
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

func TestAKymaIsConcernedByWhatItsEntriesMeanInTheRemoteCluster(t *testing.T) {
	kyma := desiredtest.TakenIn(desiredtest.Kyma("first"), v1beta2.SyncGenerationDefault, "regular",
		v1beta2.Module{Name: "keda", RemoteModuleTemplateRef: "mine"})
	require.Subset(t, desired.References(kyma), []string{
		desired.RemoteTemplateKey(kyma.UID, "kyma-system", "mine"), desired.RemoteTemplateKey(kyma.UID, "kyma-system", "first"),
	})
	require.NotContains(t, strings.Join(desired.References(desiredtest.Kyma("first")), " "), "@remote/", "nothing was read there yet")
}

func TestNamesOfTakenInTemplatesAreShortAndDiffer(t *testing.T) {
	kyma := desiredtest.Kyma()
	name := desired.TakenInName(kyma, "kyma-system", "mine")
	require.Regexp(t, `^kyma-sample-remote-[0-9a-f]{16}$`, name)
	require.Equal(t, name, desired.TakenInName(kyma, "kyma-system", "mine"))
	require.NotEqual(t, name, desired.TakenInName(kyma, "kyma-system", "other"))
	kyma.UID = "made anew"
	require.NotEqual(t, name, desired.TakenInName(kyma, "kyma-system", "mine"))

	kyma.Name = strings.Repeat("a", 38) + "-" + strings.Repeat("b", 60)
	long := desired.TakenInName(kyma, "kyma-system", "mine")
	require.LessOrEqual(t, len(long), 63)
	require.NotContains(t, long, "--")
}
