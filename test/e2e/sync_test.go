package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// The remote Kyma, the catalog, the templates of the cluster's owner and the image pull Secret are kept as they should be. What
// is installed stays, whatever happens to them.
func TestARemoteClusterKeepsWhatIsSynchronizedAndItsModules(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // passes find what happens in the remote cluster, and what is new of a module that the Kyma does not list
	for _, module := range []string{"given", "added", "later"} {
		s.PushMinimal(module)
	}
	s.Instance.Start()
	t.Run("the remote Kyma moves to another namespace", func(t *testing.T) { remoteKymaMoves(t, s) })
	definitionsGo(t, s, s.Remote)

	s.Create(harness.NewKyma("returning", "given"))
	s.BecomesReady("returning", "given@1.0.0")
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "added"})
	})
	s.BecomesReady("returning", "given@1.0.0", "added@1.0.0")
	for what, name := range map[string]string{"the remote Kyma": "", "its definition": "kymas.operator.kyma-project.io"} {
		t.Run(what+" is deleted, and is created again", func(t *testing.T) { remoteKymaReturns(t, s, name) })
	}
	t.Run("a module without a release meta leaves the remote catalog", func(t *testing.T) { catalogShrinks(t, s) })
	t.Run("a template of the cluster's owner serves the Kyma", func(t *testing.T) { ownTemplateServes(t, s) })
	s.RemoveKyma("returning")
	definitionsGo(t, s, s.Remote)

	t.Run("the image pull Secret is kept as it is in the control plane", func(t *testing.T) { pullSecretIsKept(t, s) })
}

// The remote Kyma follows spec.sync.namespace, with what its owner asks for; installed modules stay where they are.
func remoteKymaMoves(t *testing.T, s *harness.Environment) {
	t.Helper()
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

// remoteKymaReturns deletes the remote Kyma, or the definition of this name, and waits until it is created again with its last
// spec. No module is touched.
func remoteKymaReturns(t *testing.T, s *harness.Environment, definition string) {
	t.Helper()
	installed := untouched(t, s, "returning", "given", "added")
	before := s.RemoteKyma()
	deleted := client.Object(before)
	if definition != "" {
		deleted = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition}}
	}
	require.NoError(t, s.Remote.Delete(t.Context(), deleted))
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
}

// A module whose ModuleReleaseMeta is deleted can no longer be chosen: it leaves the remote catalog, also of a cluster that does
// not have it, and what is installed stays. A template of the older generation has its own channel.
func catalogShrinks(t *testing.T, s *harness.Environment) {
	t.Helper()
	older := &v1beta2.ModuleTemplate{ObjectMeta: metav1.ObjectMeta{
		Name: "older-regular", Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{shared.LabelModuleName: "older"},
	}}
	offered := &v1beta2.ModuleTemplate{}
	require.NoError(t, s.ControlPlane.Get(t.Context(), types.NamespacedName{Namespace: harness.ControlPlaneNamespace, Name: "later-1.0.0"}, offered))
	older.Spec.Channel, older.Spec.Descriptor = "regular", offered.Spec.Descriptor
	require.NoError(t, s.ControlPlane.Create(t.Context(), older))
	installed := untouched(t, s, "returning", "given", "added")
	all := []string{"given", "added", "later"}
	isOffered(t, s, "all is offered", all, "given-1.0.0", "added-1.0.0", "later-1.0.0", "older-regular")
	for _, name := range all {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace}}))
	}
	isOffered(t, s, "what can be chosen stays", nil, "older-regular")
	s.Eventually("the modules say why they are not updated any more", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "no ModuleReleaseMeta found", s.Module("returning", "given").Message)
		assert.Equal(c, "no ModuleReleaseMeta found", s.Module("returning", "added").Message)
	})
	require.Equal(t, installed, untouched(t, s, "returning", "given", "added"))

	// The channel of one that is there again leads to a version that has no template.
	s.PushModule(harness.MinimalModule{Name: "given", Channels: "regular=1.1.0"})
	s.Eventually("the module says which template is missing", time.Minute, func(c *assert.CollectT) {
		module := s.Module("returning", "given")
		assert.Equal(c, `failed to get module template: ModuleTemplate.operator.kyma-project.io "given-1.1.0" not found`, module.Message)
		assert.Equal(c, "no ModuleTemplate found for module given in version 1.1.0: publish ModuleTemplate given-1.1.0", module.Hint)
	})
	require.Equal(t, installed, untouched(t, s, "returning", "given", "added"))

	s.PushMinimal("given")
	s.PushMinimal("added")
	s.BecomesReady("returning", "given@1.0.0", "added@1.0.0")
	require.Equal(t, installed, untouched(t, s, "returning", "given", "added"))
}

// isOffered waits until the remote catalog has exactly these release metas and templates.
func isOffered(t *testing.T, s *harness.Environment, what string, metas []string, templates ...string) {
	t.Helper()
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
