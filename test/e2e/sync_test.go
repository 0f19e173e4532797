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
)

// What the owner of a cluster deletes by hand comes back with what was last asked for there, and no module is touched.
func TestTheRemoteKymaComesBackAsItsOwnerLeftIt(t *testing.T) {
	s := newStage(t)
	s.pushTiny("given")
	s.pushTiny("added")
	s.instance.start()
	s.create(newKyma("returning", "given"))
	s.becomesReady("returning", "given@1.0.0")
	s.editRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "added"})
	})
	s.becomesReady("returning", "given@1.0.0", "added@1.0.0")
	installed := s.untouched(t, "returning", "given", "added")
	before := s.remoteKyma()

	for what, deleted := range map[string]func() client.Object{
		"the remote Kyma": func() client.Object { return before },
		"its definition": func() client.Object {
			return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "kymas.operator.kyma-project.io"}}
		},
	} {
		t.Run(what+" is deleted", func(t *testing.T) {
			before = s.remoteKyma()
			require.NoError(t, s.remote.Delete(t.Context(), deleted()))
			s.eventually("the remote Kyma is back", 3*time.Minute, func(c *assert.CollectT) {
				var back v1beta2.Kyma
				require.NoError(c, s.remote.Get(t.Context(), client.ObjectKeyFromObject(before), &back))
				assert.NotEqual(c, before.UID, back.UID)
				assert.Equal(c, before.Spec, back.Spec)
				assert.Equal(c, shared.StateReady, back.Status.State)
				assert.Len(c, back.Status.Modules, 2)
				assert.Equal(c, string(back.UID), s.kyma("returning").Status.Remote.UID)
			})
			s.becomesReady("returning", "given@1.0.0", "added@1.0.0")
			require.Equal(t, installed, s.untouched(t, "returning", "given", "added"))
		})
	}
}

// untouched are the uids of what a Kyma's tiny modules have in the remote cluster, and of their Manifests.
func (s *stage) untouched(t *testing.T, kyma string, modules ...string) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for _, module := range modules {
		installed := s.tinies(t, s.remote, module)
		require.Len(t, installed, 1, module)
		for namespace, uid := range installed {
			found[namespace+"/"+module] = uid
		}
	}
	for _, manifest := range s.manifests(s.kyma(kyma)) {
		found["Manifest "+manifest.Name] = manifest.UID
	}
	require.Len(t, found, 2*len(modules))
	return found
}

// The remote Kyma follows spec.sync.namespace, with what its owner asks for; installed modules stay where they are.
func TestTheRemoteKymaMovesToAnotherNamespace(t *testing.T) {
	s := newStage(t)
	for _, module := range []string{"given", "added", "later"} {
		s.pushTiny(module)
	}
	s.instance.start()
	kyma := newSynced("moving", "given")
	kyma.Spec.Sync.Namespace, kyma.Spec.Sync.ModuleCatalog = "moving-a", nil
	s.create(kyma)
	s.becomesReady("moving", "given@1.0.0")
	from, to := client.ObjectKey{Namespace: "moving-a", Name: "moving"}, client.ObjectKey{Namespace: "moving-b", Name: "moving"}
	edit(t, s.remote, keyed(from), func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "added"}} })
	s.becomesReady("moving", "given@1.0.0", "added@1.0.0")
	installed := s.untouched(t, "moving", "given", "added")
	require.Contains(t, installed, "moving-a/added")

	edit(t, s.controlPlane, kyma, func(k *v1beta2.Kyma) { k.Spec.Sync.Namespace = to.Namespace })
	s.eventually("the remote Kyma is in the new namespace", 2*time.Minute, func(c *assert.CollectT) {
		var moved v1beta2.Kyma
		if assert.NoError(c, s.remote.Get(t.Context(), to, &moved)) {
			assert.Equal(c, []v1beta2.Module{{Name: "added"}}, withoutDefaults(moved.Spec.Modules))
			assert.Equal(c, shared.StateReady, moved.Status.State)
			assert.Len(c, moved.Status.Modules, 2)
		}
		assert.Len(c, s.remoteKymas(t), 1)
		remote := s.kyma("moving").Status.Remote
		assert.Equal(c, to.Namespace, remote.Namespace)
		assert.Nil(c, remote.MovingFrom)
		var templates v1beta2.ModuleTemplateList
		require.NoError(c, s.remote.List(t.Context(), &templates))
		assert.Len(c, templates.Items, 3)
		for _, template := range templates.Items {
			assert.Equal(c, to.Namespace, template.Namespace)
		}
	})
	s.becomesReady("moving", "given@1.0.0", "added@1.0.0")
	require.Equal(t, installed, s.untouched(t, "moving", "given", "added"))

	edit(t, s.remote, keyed(to), func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"}) })
	s.becomesReady("moving", "given@1.0.0", "added@1.0.0", "later@1.0.0")
	require.Equal(t, "1.0.0", s.tinyVersion(to.Namespace, "later"), "new modules go to the new namespace")
	s.removeKyma("moving")
	require.Empty(t, s.ofModule(t, s.remote))
	require.Empty(t, s.remoteKymas(t))
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

// A Kyma whose access leads to the control plane's own cluster is served there where that is allowed, in a namespace of its own, and its
// deletion takes nothing that is not its own.
func TestAKymaThatIsSynchronizedIntoTheControlPlaneHarmsNobody(t *testing.T) {
	s := newStage(t, "--allow-control-plane-modules")
	s.pushTiny("steady")
	s.pushTiny("inner")
	s.instance.start()
	s.create(newSynced("outside", "steady"))
	s.becomesReady("outside", "steady@1.0.0")
	originals := s.originals(t)
	outside := s.untouched(t, "outside", "steady")

	access, err := os.ReadFile(s.controlPlane.access)
	require.NoError(t, err)
	s.giveAccess("inside", access)
	kyma := newSynced("inside", "inner")
	kyma.Spec.Sync.ModuleCatalog = nil
	require.NoError(t, s.controlPlane.Create(t.Context(), kyma))
	s.becomesReady("inside", "inner@1.0.0")
	require.Len(t, s.tinies(t, s.controlPlane, "inner"), 1)
	copied := client.ObjectKey{Namespace: "inside", Name: "inside"}
	var remote v1beta2.Kyma
	s.eventually("its copy has the status", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.controlPlane.Get(t.Context(), copied, &remote))
		assert.Equal(c, shared.StateReady, remote.Status.State)
	})
	require.Empty(t, s.workflowsOf(&remote), "the copy is no Kyma to take care of")
	require.Empty(t, remote.Finalizers)
	edit(t, s.controlPlane, &remote, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "steady"}} })
	s.becomesReady("inside", "inner@1.0.0", "steady@1.0.0")

	s.removeKyma("inside")
	s.sweeps(t, 1)
	require.Empty(t, s.tinies(t, s.controlPlane, "inner"))
	require.True(t, apierrors.IsNotFound(s.controlPlane.Get(t.Context(), copied, &remote)))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, s.controlPlane.List(t.Context(), &templates, client.InNamespace("inside")))
	require.Empty(t, templates.Items, "its catalog goes with it")
	require.Equal(t, originals, s.originals(t))
	s.becomesReady("outside", "steady@1.0.0")
	require.Equal(t, outside, s.untouched(t, "outside", "steady"))
}

// originals are the uids of everything in the control plane that a synchronization could mistake for its own.
func (s *stage) originals(t *testing.T) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for kind, list := range map[string]client.ObjectList{
		"CustomResourceDefinition": &apiextensionsv1.CustomResourceDefinitionList{},
		"ModuleTemplate":           &v1beta2.ModuleTemplateList{},
		"ModuleReleaseMeta":        &v1beta2.ModuleReleaseMetaList{},
		"Kyma":                     &v1beta2.KymaList{},
		"Namespace":                &corev1.NamespaceList{},
	} {
		require.NoError(t, s.controlPlane.List(t.Context(), list))
		require.NoError(t, meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			found[kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.GetUID()
			return err
		}))
	}
	maps.DeleteFunc(found, func(key string, _ types.UID) bool { return key == "Namespace /inside" })
	return found
}
