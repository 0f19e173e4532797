package e2e

import (
	"maps"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// A remote Kyma that its owner deletes is created again with its last spec, and no module is touched.
func TestADeletedRemoteKymaIsCreatedAgainWithItsSpec(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // what happens to a remote Kyma is found by passes
	s.PushMinimal("given")
	s.PushMinimal("added")
	s.Instance.Start()
	s.Create(harness.NewKyma("returning", "given"))
	s.BecomesReady("returning", "given@1.0.0")
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "added"})
	})
	s.BecomesReady("returning", "given@1.0.0", "added@1.0.0")
	installed := untouched(t, s, "returning", "given", "added")
	before := s.RemoteKyma()

	for what, deleted := range map[string]func() client.Object{
		"the remote Kyma": func() client.Object { return before },
		"its definition": func() client.Object {
			return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "kymas.operator.kyma-project.io"}}
		},
	} {
		t.Run(what+" is deleted", func(t *testing.T) {
			before = s.RemoteKyma()
			require.NoError(t, s.Remote.Delete(t.Context(), deleted()))
			s.Eventually("the remote Kyma is back", 3*time.Minute, func(c *assert.CollectT) {
				var back v1beta2.Kyma
				require.NoError(c, s.Remote.Get(t.Context(), client.ObjectKeyFromObject(before), &back))
				assert.NotEqual(c, before.UID, back.UID)
				assert.Equal(c, before.Spec, back.Spec)
				assert.Equal(c, shared.StateReady, back.Status.State)
				assert.Len(c, back.Status.Modules, 2)
				assert.Equal(c, string(back.UID), s.Kyma("returning").Status.Remote.UID)
			})
			s.BecomesReady("returning", "given@1.0.0", "added@1.0.0")
			require.Equal(t, installed, untouched(t, s, "returning", "given", "added"))
		})
	}
}

// A module whose ModuleReleaseMeta is deleted can no longer be chosen: it leaves the remote catalog, also of a cluster that does
// not have it, and what is installed stays. A template of the older generation has its own channel.
func TestAModuleWithoutAReleaseMetaLeavesTheRemoteCatalog(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // what a Kyma does not list is found by passes
	s.PushMinimal("listed")
	s.PushMinimal("offered")
	older := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{
		Name: "older-regular", Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{shared.LabelModuleName: "older"},
	}}
	offered := &v1beta2.ModuleTemplate{}
	require.NoError(t, s.ControlPlane.Get(t.Context(), types.NamespacedName{Namespace: harness.ControlPlaneNamespace, Name: "offered-1.0.0"}, offered))
	older.Spec.Channel, older.Spec.Descriptor = "regular", offered.Spec.Descriptor
	require.NoError(t, s.ControlPlane.Create(t.Context(), older))
	s.Instance.Start()
	s.Create(harness.NewKyma("choosing", "listed"))
	s.BecomesReady("choosing", "listed@1.0.0")
	installed := untouched(t, s, "choosing", "listed")
	offers := func(what string, metas []string, templates ...string) {
		s.Eventually(what, 2*time.Minute, func(c *assert.CollectT) {
			var there v1beta2.ModuleTemplateList
			require.NoError(c, s.Remote.List(t.Context(), &there, client.InNamespace(harness.RemoteNamespace)))
			var speaking v1beta2.ModuleReleaseMetaList
			require.NoError(c, s.Remote.List(t.Context(), &speaking, client.InNamespace(harness.RemoteNamespace)))
			var names, of []string
			for _, template := range there.Items {
				names = append(names, template.Name)
			}
			for _, meta := range speaking.Items {
				of = append(of, meta.Name)
			}
			assert.ElementsMatch(c, templates, names)
			assert.ElementsMatch(c, metas, of)
		})
	}
	offers("all is offered", []string{"listed", "offered"}, "listed-1.0.0", "offered-1.0.0", "older-regular")
	for _, name := range []string{"listed", "offered"} {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace}}))
	}
	offers("what can be chosen stays", nil, "older-regular")
	s.Eventually("the module says why it is not updated any more", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "no ModuleReleaseMeta found", s.Module("choosing", "listed").Message)
	})
	require.Equal(t, installed, untouched(t, s, "choosing", "listed"))

	// The channel of one that is there again leads to a version that has no template.
	s.PushModule(harness.MinimalModule{Name: "listed", Channels: "regular=1.1.0"})
	s.Eventually("the module says which template is missing", time.Minute, func(c *assert.CollectT) {
		module := s.Module("choosing", "listed")
		assert.Equal(c, `failed to get module template: ModuleTemplate.operator.kyma-project.io "listed-1.1.0" not found`, module.Message)
		assert.Equal(c, "no ModuleTemplate found for module listed in version 1.1.0: publish ModuleTemplate listed-1.1.0", module.Hint)
	})
	require.Equal(t, installed, untouched(t, s, "choosing", "listed"))
}

// untouched are the uids of what a Kyma's minimal modules have in the remote cluster, and of their Manifests.
func untouched(t *testing.T, s *harness.Environment, kyma string, modules ...string) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for _, module := range modules {
		installed := s.MinimalUIDs(t, s.Remote, module)
		require.Len(t, installed, 1, module)
		for namespace, uid := range installed {
			found[namespace+"/"+module] = uid
		}
	}
	for _, manifest := range s.Manifests(s.Kyma(kyma)) {
		found["Manifest "+manifest.Name] = manifest.UID
	}
	require.Len(t, found, 2*len(modules))
	return found
}

// The remote Kyma follows spec.sync.namespace, with what its owner asks for; installed modules stay where they are.
func TestTheRemoteKymaMovesToAnotherNamespace(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	for _, module := range []string{"given", "added", "later"} {
		s.PushMinimal(module)
	}
	s.Instance.Start()
	kyma := harness.NewSynced("moving", "given")
	kyma.Spec.Sync.Namespace, kyma.Spec.Sync.ModuleCatalog = "moving-a", nil
	s.Create(kyma)
	s.BecomesReady("moving", "given@1.0.0")
	from, to := client.ObjectKey{Namespace: "moving-a", Name: "moving"}, client.ObjectKey{Namespace: "moving-b", Name: "moving"}
	harness.Edit(t, s.Remote, keyed(from), func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "added"}} })
	s.BecomesReady("moving", "given@1.0.0", "added@1.0.0")
	installed := untouched(t, s, "moving", "given", "added")
	require.Contains(t, installed, "moving-a/added")

	harness.Edit(t, s.ControlPlane, kyma, func(k *v1beta2.Kyma) { k.Spec.Sync.Namespace = to.Namespace })
	s.Eventually("the remote Kyma is in the new namespace", 2*time.Minute, func(c *assert.CollectT) {
		var moved v1beta2.Kyma
		if assert.NoError(c, s.Remote.Get(t.Context(), to, &moved)) {
			assert.Equal(c, []v1beta2.Module{{Name: "added"}}, withoutDefaults(moved.Spec.Modules))
			assert.Equal(c, shared.StateReady, moved.Status.State)
			assert.Len(c, moved.Status.Modules, 2)
		}
		assert.Len(c, s.RemoteKymas(t), 1)
		remote := s.Kyma("moving").Status.Remote
		assert.Equal(c, to.Namespace, remote.Namespace)
		assert.Nil(c, remote.MovingFrom)
		var templates v1beta2.ModuleTemplateList
		require.NoError(c, s.Remote.List(t.Context(), &templates))
		assert.Len(c, templates.Items, 3)
		for _, template := range templates.Items {
			assert.Equal(c, to.Namespace, template.Namespace)
		}
	})
	s.BecomesReady("moving", "given@1.0.0", "added@1.0.0")
	require.Equal(t, installed, untouched(t, s, "moving", "given", "added"))

	harness.Edit(t, s.Remote, keyed(to), func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"}) })
	s.BecomesReady("moving", "given@1.0.0", "added@1.0.0", "later@1.0.0")
	require.Equal(t, "1.0.0", s.MinimalVersion(to.Namespace, "later"), "new modules go to the new namespace")
	s.RemoveKyma("moving")
	require.Empty(t, s.OfModule(t, s.Remote))
	require.Empty(t, s.RemoteKymas(t))
}

func keyed(key client.ObjectKey) *v1beta2.Kyma {
	return &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// withoutDefaults are module entries as they are written.
func withoutDefaults(modules []v1beta2.Module) []v1beta2.Module {
	var bare []v1beta2.Module
	for _, module := range modules {
		bare = append(bare, v1beta2.Module{Name: module.Name, Channel: module.Channel, Version: module.Version})
	}
	return bare
}

// A Kyma whose access leads to the control plane's own cluster is served there where that is allowed, in a namespace of
// its own, and its deletion takes nothing that is not its own.
func TestAKymaThatIsSynchronizedIntoTheControlPlaneAffectsNoOther(t *testing.T) {
	s := harness.NewEnvironment(t, "--allow-control-plane-modules")
	s.SweepOften()
	s.PushMinimal("steady")
	s.PushMinimal("inner")
	s.Instance.Start()
	s.Create(harness.NewSynced("outside", "steady"))
	s.BecomesReady("outside", "steady@1.0.0")
	originals := originalsIn(t, s)
	outside := untouched(t, s, "outside", "steady")

	access, err := os.ReadFile(s.ControlPlane.Access)
	require.NoError(t, err)
	s.GiveAccess("inside", access)
	kyma := harness.NewSynced("inside", "inner")
	kyma.Spec.Sync.ModuleCatalog = nil
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	s.BecomesReady("inside", "inner@1.0.0")
	require.Len(t, s.MinimalUIDs(t, s.ControlPlane, "inner"), 1)
	copied := client.ObjectKey{Namespace: "inside", Name: "inside"}
	var remote v1beta2.Kyma
	s.Eventually("its copy has the status", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.ControlPlane.Get(t.Context(), copied, &remote))
		assert.Equal(c, shared.StateReady, remote.Status.State)
	})
	require.Empty(t, s.WorkflowOf(&remote), "the copy is not reconciled")
	require.Empty(t, remote.Finalizers)
	harness.Edit(t, s.ControlPlane, &remote, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "steady"}} })
	s.BecomesReady("inside", "inner@1.0.0", "steady@1.0.0")

	s.RemoveKyma("inside")
	s.Sweeps(t, 1)
	require.Empty(t, s.MinimalUIDs(t, s.ControlPlane, "inner"))
	require.True(t, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), copied, &remote)))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, s.ControlPlane.List(t.Context(), &templates, client.InNamespace("inside")))
	require.Empty(t, templates.Items, "its catalog goes with it")
	require.Equal(t, originals, originalsIn(t, s))
	s.BecomesReady("outside", "steady@1.0.0")
	require.Equal(t, outside, untouched(t, s, "outside", "steady"))
}

// originalsIn are the uids of everything in the control plane that a synchronization could mistake for its own.
func originalsIn(t *testing.T, s *harness.Environment) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for kind, list := range map[string]client.ObjectList{
		"CustomResourceDefinition": &apiextensionsv1.CustomResourceDefinitionList{},
		"ModuleTemplate":           &v1beta2.ModuleTemplateList{},
		"ModuleReleaseMeta":        &v1beta2.ModuleReleaseMetaList{},
		"Kyma":                     &v1beta2.KymaList{},
		"Namespace":                &corev1.NamespaceList{},
	} {
		require.NoError(t, s.ControlPlane.List(t.Context(), list))
		require.NoError(t, meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			found[kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.GetUID()
			return err
		}))
	}
	maps.DeleteFunc(found, func(key string, _ types.UID) bool { return key == "Namespace /inside" })
	return found
}
