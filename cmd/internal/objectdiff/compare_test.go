package objectdiff

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objectsOf parses documents.
func objectsOf(t *testing.T, documents string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(documents, "\n---\n") {
		u := &unstructured.Unstructured{}
		content, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		require.NoError(t, u.UnmarshalJSON(content))
		all = append(all, u)
	}
	return all
}

// compared returns the difference of two versions as text.
func compared(t *testing.T, before, after string) string {
	t.Helper()
	changes, err := Compare(objectsOf(t, before), objectsOf(t, after))
	require.NoError(t, err)
	text := &bytes.Buffer{}
	require.NoError(t, WriteText(text, changes))
	return text.String()
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: keda, namespace: kyma-system, annotations: {example.com/a: b}}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: proxy, image: proxy:1}
      - {name: operator, image: "operator:1", args: [--a], env: [{name: A, value: a}, {name: B, value: b}]}
`

func TestChangedFieldsOfAnObjectAreShown(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"a number":            {"replicas: 1", "replicas: 2", ".spec.replicas 1 -> 2"},
		"an image":            {"operator:1", "operator:2", `.spec.template.spec.containers[name=operator].image "operator:1" -> "operator:2"`},
		"a list of texts":     {"[--a]", "[--a, --b]", `.spec.template.spec.containers[name=operator].args ["--a"] -> ["--a","--b"]`},
		"a variable less":     {"{name: A, value: a}, ", "", `.spec.template.spec.containers[name=operator].env[name=A] removed {"name":"A","value":"a"}`},
		"a container more":    {"- {name: proxy", "- {name: more}\n      - {name: proxy", `.spec.template.spec.containers[name=more] added {"name":"more"}`},
		"a key with a dot":    {"example.com/a: b", "example.com/a: c", `.metadata.annotations["example.com/a"] "b" -> "c"`},
		"another type":        {"replicas: 1", "replicas: {a: 1}", `.spec.replicas 1 -> {"a":1}`},
		"no more annotations": {", annotations: {example.com/a: b}", "", `.metadata.annotations removed {"example.com/a":"b"}`},
		"another API version": {"apps/v1", "apps/v2", `.apiVersion "apps/v1" -> "apps/v2"`},
		"a list of others":    {"[--a]", "[{a: b}]", `.spec.template.spec.containers[name=operator].args ["--a"] -> [{"a":"b"}]`},
		"a list that is full": {"[--a]", "[]", `.spec.template.spec.containers[name=operator].args ["--a"] -> []`},
		"the order of a list": {"{name: A, value: a}, {name: B, value: b}", "{name: B, value: b}, {name: A, value: a}", ""},
		"a long value":        {"replicas: 1", "replicas: " + strings.Repeat("x", 200), `.spec.replicas 1 -> "` + strings.Repeat("x", 79) + "…"},
		"no name of its own":  {"{name: B,", "{name: A,", ""},
	} {
		t.Run(name, func(t *testing.T) {
			after := strings.Replace(deployment, test.from, test.to, 1)
			require.NotEqual(t, deployment, after)
			text := compared(t, deployment, after)
			switch {
			case name == "no name of its own":
				require.Contains(t, text, `.env[0] added {"name":"A","value":"a"}`)
				require.Contains(t, text, ".env[name=B] removed")
			case test.want == "":
				require.Empty(t, text)
			default:
				require.Equal(t, "~ apps/Deployment kyma-system/keda: "+test.want+"\n", text)
			}
		})
	}
}

func TestObjectsAreAddedAndRemoved(t *testing.T) {
	const one, other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: one}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: two}"
	require.Equal(t, "- ConfigMap one/a\n+ ConfigMap two/a\n", compared(t, one, other))
	changes, err := Compare(nil, objectsOf(t, one))
	require.NoError(t, err)
	require.Equal(t, []Change{{Object: "ConfigMap one/a", Kind: Added}}, changes)
	require.Equal(t, "objects: 1 added", Summary(changes))
	changes, err = Compare(objectsOf(t, one), nil)
	require.NoError(t, err)
	require.Equal(t, "objects: 1 removed", Summary(changes))
	require.Equal(t, "no object changes", Summary(nil))
}

func TestOnlyTheFirstOfManyFieldsAreShown(t *testing.T) {
	config := func(value string) string {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
		for i := range fieldsAtMost + 5 {
			text += fmt.Sprintf("  k%02d: %s\n", i, value)
		}
		return text
	}
	text := compared(t, config("a"), config("b"))
	require.Contains(t, text, `.data.k19 "a" -> "b" and 5 more`)
	require.NotContains(t, text, "k20")
}

func TestNoValueOfASecretIsShown(t *testing.T) {
	const before = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {copy: hidden1}}\ndata: {gone: aGlkZGVu, password: aGlkZGVu}\nstringData: {a: hidden1}"
	after := strings.NewReplacer("hidden1", "hidden2", "password: aGlkZGVu", "password: aGlkZGVo", "gone: aGlkZGVu", "come: aGlkZGVu").Replace(before)
	text := compared(t, before, after)
	require.Equal(t, "~ Secret a: .data.come changes, .data.gone changes, .data.password changes, .metadata.annotations.copy changes, .stringData.a changes\n", text)
	changes, err := Compare(objectsOf(t, before), objectsOf(t, after))
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", changes), "idden1")
	require.NotContains(t, fmt.Sprintf("%+v", changes), "aGlk")
}

func TestADefinitionThatIsRemovedOrChangesIsMarked(t *testing.T) {
	const before = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kedas.example.com}
spec:
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v1alpha1, served: true, storage: false}
`
	require.Equal(t, "~ apiextensions.k8s.io/CustomResourceDefinition kedas.example.com: .spec.versions[name=v1alpha1].served true -> false\n"+
		"  ! data could be lost: version v1alpha1 is no longer served\n", compared(t, before, strings.Replace(before, "v1alpha1, served: true", "v1alpha1, served: false", 1)))
	changes, err := Compare(objectsOf(t, before), nil)
	require.NoError(t, err)
	require.Equal(t, []Risk{{DataLoss, "the kind is removed, with all its objects"}}, changes[0].Risks)
	require.Equal(t, "objects: 1 removed; data could be lost", Summary(changes))
	changes, err = Compare(objectsOf(t, before), objectsOf(t, strings.Replace(before, "scope: Namespaced", "scope: 3", 1)))
	require.NoError(t, err)
	require.Len(t, changes[0].Risks, 1)
	require.Contains(t, changes[0].Risks[0].Reason, "the newer definition cannot be read")
}
