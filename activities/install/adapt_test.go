package install

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const twoWorkloads = `apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec: {template: {spec: {imagePullSecrets: [{name: own}], initContainers: [{name: init, image: a}], containers: [{name: a, image: a, env: [{name: A, value: b}]}, {name: b, image: b}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: elsewhere}
spec: {template: {spec: {imagePullSecrets: [{name: regcred}], containers: [{name: store, image: a}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {containers: [{name: once, image: a}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: without-pods}
spec: {}
`

func adapted(t *testing.T, by adaptation) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := parsed(t, strings.Split(twoWorkloads, "---\n")...)
	require.NoError(t, by.adapt(objects))
	byName := map[string]*unstructured.Unstructured{}
	for _, u := range objects {
		byName[u.GetName()] = u
	}
	return byName
}

func pullSecrets(u *unstructured.Unstructured) any {
	return at(u.Object, "spec", "template", "spec", "imagePullSecrets")
}

// toldOf are the names of the containers that are told of the Secret.
func toldOf(t *testing.T, u *unstructured.Unstructured, list string) []any {
	t.Helper()
	var names []any
	containers, _ := at(u.Object, "spec", "template", "spec", list).([]any)
	for _, content := range containers {
		container, ok := content.(map[string]any)
		require.True(t, ok)
		variables, _ := container["env"].([]any)
		for _, content := range variables {
			variable, ok := content.(map[string]any)
			require.True(t, ok)
			if variable["name"] == "SKR_IMG_PULL_SECRET" {
				require.Equal(t, "regcred", variable["value"])
				names = append(names, container["name"])
			}
		}
	}
	return names
}

func TestWorkloadsPullTheirImagesWithTheSecretOfTheInstance(t *testing.T) {
	t.Parallel()
	reference := func(name string) any { return map[string]any{"name": name} }
	objects := adapted(t, adaptation{pullSecret: "regcred"})
	require.Equal(t, []any{reference("own"), reference("regcred")}, pullSecrets(objects["operator"]), "its own stay")
	require.Equal(t, []any{reference("regcred")}, pullSecrets(objects["store"]), "one that it has is not there twice")
	require.Nil(t, pullSecrets(objects["once"]), "what runs once would run again")
	require.Nil(t, pullSecrets(objects["without-pods"]))
	require.Equal(t, []any{"a", "b"}, toldOf(t, objects["operator"], "containers"))
	require.Empty(t, toldOf(t, objects["operator"], "initContainers"))
	require.Equal(t, []any{"store"}, toldOf(t, objects["store"], "containers"))

	for name, u := range adapted(t, adaptation{remoteNamespace: "kyma-system"}) {
		require.Empty(t, toldOf(t, u, "containers"), name)
		require.Equal(t, map[string]any{"operator": []any{reference("own")}, "store": []any{reference("regcred")}}[name], pullSecrets(u), "no Secret: %s", name)
	}
}

func TestOnlyTheModulesManagerIsToldOfTheImagePullSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind, namespace string
		want            []any
	}{
		"the remote namespace, as the object that names none": {kind: "Deployment", namespace: "kyma-system", want: []any{"a", "b"}},
		"none of its own, as the object":                      {kind: "Deployment", want: []any{"a", "b"}},
		"another namespace":                                   {kind: "Deployment", namespace: "elsewhere"},
		"another kind":                                        {kind: "StatefulSet"},
	} {
		manager := &v1beta2.Manager{
			GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: test.kind}, Namespace: test.namespace, Name: "operator",
		}
		objects := adapted(t, adaptation{pullSecret: "regcred", manager: manager, remoteNamespace: "kyma-system"})
		require.Equal(t, test.want, toldOf(t, objects["operator"], "containers"), name)
		require.Empty(t, toldOf(t, objects["store"], "containers"), name)
		require.NotEmpty(t, pullSecrets(objects["store"]), "all pull with it: %s", name)
	}
}

func TestAModuleThatSetsTheVariableOfTheImagePullSecretItselfIsRefused(t *testing.T) {
	t.Parallel()
	const taken = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator}\nspec: {template: {spec: {containers: [{name: manager, image: a, env: [{name: SKR_IMG_PULL_SECRET, value: x}]}]}}}\n"
	_, _, err := build(&artifacts.Rendered{Objects: parsed(t, taken)}, adaptation{pullSecret: "regcred"})
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.ErrorContains(t, err, "Deployment operator: container manager has an environment variable SKR_IMG_PULL_SECRET")
	_, _, err = build(&artifacts.Rendered{Objects: parsed(t, taken)}, adaptation{})
	require.NoError(t, err, "without a Secret it is the module's own")
}

func TestBundlesOfDifferentAdaptationsAreKeptApart(t *testing.T) {
	t.Parallel()
	manager := &v1beta2.Manager{GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "operator"}
	seen := map[string]bool{}
	for _, by := range []adaptation{
		{}, {images: []string{"a/b:1"}}, {images: []string{"a/b:1", "a/c:1"}}, {images: []string{"a/b:1,a/c:1"}},
		{pullSecret: "one"}, {pullSecret: "two"}, {pullSecret: "one", manager: manager},
		{pullSecret: "one", manager: manager, remoteNamespace: "kyma-system"}, {pullSecret: "one", images: []string{"a/b:1"}},
	} {
		require.False(t, seen[by.key()], "%+v", by)
		seen[by.key()] = true
	}
	require.Empty(t, adaptation{manager: manager, remoteNamespace: "kyma-system"}.key(), "nothing is changed without a Secret")
}

func TestImagesAndPullSecretOfAManifestReachItsPods(t *testing.T) {
	s := newStand(t, operatorYAML, nil)
	s.installReady()
	pods := func() corev1.PodSpec {
		deployment := &appsv1.Deployment{}
		require.NoError(t, s.remote.Get(context.Background(), types.NamespacedName{Namespace: s.id + "-remote", Name: "operator"}, deployment))
		return deployment.Spec.Template.Spec
	}
	s.update(func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{desired.AnnotationImagePullSecret: "regcred"}
		m.Spec.LocalizedImages = []string{"local.example.com/copies/operator:1.0.0"}
	})
	require.NotEqual(t, s.read().Status.InputsDigest, InputsDigest(s.cached()), "it is looked at again")
	s.installReady()
	require.Equal(t, []corev1.LocalObjectReference{{Name: "regcred"}}, pods().ImagePullSecrets)
	require.Equal(t, "local.example.com/copies/operator:1.0.0", pods().Containers[0].Image)
	require.Equal(t, []corev1.EnvVar{{Name: "SKR_IMG_PULL_SECRET", Value: "regcred"}}, pods().Containers[0].Env)
	differs, _ := s.probe()
	require.False(t, differs)

	s.update(func(m *v1beta2.Manifest) { m.Annotations = nil })
	require.NotEqual(t, s.read().Status.InputsDigest, InputsDigest(s.cached()))
	s.installReady()
	require.Empty(t, pods().ImagePullSecrets)
	require.Empty(t, pods().Containers[0].Env)
	_, corrected := s.told.take()
	require.Zero(t, corrected, "what the instance wants anew is no drift")
}
