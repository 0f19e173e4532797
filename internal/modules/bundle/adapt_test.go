package bundle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
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

func adapted(t *testing.T, by Adaptation) map[string]*unstructured.Unstructured {
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

// withVariable returns the names of the containers that have the name of the Secret in their environment.
func withVariable(t *testing.T, u *unstructured.Unstructured, list string) []any {
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
	objects := adapted(t, Adaptation{PullSecret: "regcred"})
	require.Equal(t, []any{reference("own"), reference("regcred")}, pullSecrets(objects["operator"]), "its own Secret stays")
	require.Equal(t, []any{reference("regcred")}, pullSecrets(objects["store"]), "the Secret is not added twice")
	require.Nil(t, pullSecrets(objects["once"]), "a changed Job would run again")
	require.Nil(t, pullSecrets(objects["without-pods"]))
	require.Equal(t, []any{"a", "b"}, withVariable(t, objects["operator"], "containers"))
	require.Empty(t, withVariable(t, objects["operator"], "initContainers"))
	require.Equal(t, []any{"store"}, withVariable(t, objects["store"], "containers"))

	for name, u := range adapted(t, Adaptation{RemoteNamespace: "kyma-system"}) {
		require.Empty(t, withVariable(t, u, "containers"), name)
		require.Equal(t, map[string]any{"operator": []any{reference("own")}, "store": []any{reference("regcred")}}[name], pullSecrets(u), "no Secret: %s", name)
	}
}

func TestOnlyTheModulesManagerGetsTheNameOfTheImagePullSecret(t *testing.T) {
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
		objects := adapted(t, Adaptation{PullSecret: "regcred", Manager: manager, RemoteNamespace: "kyma-system"})
		require.Equal(t, test.want, withVariable(t, objects["operator"], "containers"), name)
		require.Empty(t, withVariable(t, objects["store"], "containers"), name)
		require.NotEmpty(t, pullSecrets(objects["store"]), "all pull with the Secret: %s", name)
	}
}

func TestAModuleThatSetsTheVariableOfTheImagePullSecretItselfIsRefused(t *testing.T) {
	t.Parallel()
	const taken = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator}\nspec: {template: {spec: {containers: [{name: manager, image: a, env: [{name: SKR_IMG_PULL_SECRET, value: x}]}]}}}\n"
	_, _, err := Build(&render.Rendered{Objects: parsed(t, taken)}, Adaptation{PullSecret: "regcred"})
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.ErrorContains(t, err, "Deployment operator: container manager has an environment variable SKR_IMG_PULL_SECRET")
	_, _, err = Build(&render.Rendered{Objects: parsed(t, taken)}, Adaptation{})
	require.NoError(t, err, "without a Secret the variable is the module's own")
}

func TestBundlesOfDifferentAdaptationsAreKeptApart(t *testing.T) {
	t.Parallel()
	manager := &v1beta2.Manager{GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "operator"}
	seen := map[string]bool{}
	for _, by := range []Adaptation{
		{}, {Images: []string{"a/b:1"}}, {Images: []string{"a/b:1", "a/c:1"}}, {Images: []string{"a/b:1,a/c:1"}},
		{PullSecret: "one"}, {PullSecret: "two"}, {PullSecret: "one", Manager: manager},
		{PullSecret: "one", Manager: manager, RemoteNamespace: "kyma-system"}, {PullSecret: "one", Images: []string{"a/b:1"}},
	} {
		require.False(t, seen[by.Key()], "%+v", by)
		seen[by.Key()] = true
	}
	require.Empty(t, Adaptation{Manager: manager, RemoteNamespace: "kyma-system"}.Key(), "nothing is changed without a Secret")
}
