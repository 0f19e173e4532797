package bundle

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

func parsed(t *testing.T, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, document := range documents {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &u.Object))
		all = append(all, u)
	}
	return all
}

func bundled(t *testing.T, documents ...string) *Bundle {
	t.Helper()
	b, size, err := Build(&render.Rendered{Objects: parsed(t, documents...)}, Adaptation{})
	require.NoError(t, err)
	require.Positive(t, size)
	return b
}

// at returns the value at a path; nil if there is none.
func at(content map[string]any, path ...string) any {
	found, _, _ := unstructured.NestedFieldNoCopy(content, path...)
	return found
}

func filled(t *testing.T, tpl template, name string) map[string]any {
	t.Helper()
	var content map[string]any
	require.NoError(t, json.Unmarshal(tpl.Fill(inventory.Owner{Name: name, Mark: "kcp-system/" + name}), &content))
	return content
}

func TestABundleIsOrderedAndHasNoFieldsOfTheServer(t *testing.T) {
	t.Parallel()
	b := bundled(t,
		"apiVersion: example.com/v1\nkind: Sample\nmetadata: {name: a}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: ns, uid: x, resourceVersion: '1', managedFields: [], creationTimestamp: null, generation: 3, selfLink: /x, deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 0, finalizers: [example.com/release], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: y}]}\nstatus: {replicas: 1}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app: a, operator.kyma-project.io/managed-by: me}}\n",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
	)
	var order []string
	for _, o := range b.Objects {
		order = append(order, o.GVK.Kind)
	}
	require.Equal(t, []string{"Namespace", "ConfigMap", "Deployment", "Sample"}, order)

	deployment := filled(t, b.Objects[2].Body, "kyma-a")
	require.NotContains(t, deployment, "status")
	for _, field := range []string{
		"uid", "resourceVersion", "managedFields", "creationTimestamp", "generation", "namespace", "selfLink", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences",
	} {
		require.Nil(t, at(deployment, "metadata", field), field)
	}
	require.Equal(t, []any{"example.com/release"}, at(deployment, "metadata", "finalizers"), "the module's finalizer stays")
	require.Equal(t, map[string]any{
		"operator.kyma-project.io/managed-by": "kyma", "app.kubernetes.io/component": "kyma-a", "app.kubernetes.io/part-of": "Kyma",
	}, at(deployment, "metadata", "labels"))
	require.Equal(t, "kcp-system/kyma-a", at(deployment, "metadata", "annotations", "operator.kyma-project.io/owned-by"))
	configMap := filled(t, b.Objects[1].Body, "kyma-a")
	require.Equal(t, "a", at(configMap, "metadata", "labels", "app"))
	require.Equal(t, "kyma", at(configMap, "metadata", "labels", "operator.kyma-project.io/managed-by"))

	owned, unowned := filled(t, b.Objects[0].Body, "kyma-a"), filled(t, b.Objects[0].Unowned, "kyma-a")
	require.Contains(t, at(owned, "metadata", "annotations"), "operator.kyma-project.io/owned-by")
	require.NotContains(t, at(unowned, "metadata", "annotations"), "operator.kyma-project.io/owned-by")
	require.Equal(t, map[string]any{"operator.kyma-project.io/managed-by": "kyma", "app.kubernetes.io/part-of": "Kyma"}, at(unowned, "metadata", "labels"))
}

func TestTheAppliedDigestIsTheSameForAllManifestsAndChangesWithTheObject(t *testing.T) {
	t.Parallel()
	digest := func(document, name string) any {
		return at(filled(t, bundled(t, document).Objects[0].Body, name), "metadata", "annotations", "operator.kyma-project.io/applied-digest")
	}
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
	require.Equal(t, digest(one, "x"), digest(one, "y"))
	require.NotEqual(t, digest(one, "x"), digest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: c}\n", "x"))
}

func TestFieldsThatOthersOwnAreIgnored(t *testing.T) {
	t.Parallel()
	objects := parsed(t,
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: scaled, namespace: a}\nspec: {replicas: 1}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: scaled, namespace: b}\nspec: {replicas: 1}\n",
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, namespace: a}\nspec: {scaleTargetRef: {kind: Deployment, name: scaled}}\n",
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: a, clientConfig: {caBundle: ''}}, {name: b, clientConfig: {caBundle: Cg==}}, {name: c, clientConfig: {caBundle: Y2E=}}]\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {conversion: {webhook: {clientConfig: {caBundle: Cg==}}}}\n",
		"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\nspec: {caBundle: ''}\n",
	)
	dropIgnored(objects)
	has := func(i int, path ...string) bool {
		_, found, err := unstructured.NestedFieldNoCopy(objects[i].Object, path...)
		require.NoError(t, err)
		return found
	}
	require.False(t, has(0, "spec", "replicas"), "an autoscaler of the module sets the replicas")
	require.True(t, has(1, "spec", "replicas"), "a workload with this name in another namespace keeps its replicas")
	require.Equal(t, []any{
		map[string]any{"name": "a", "clientConfig": map[string]any{}},
		map[string]any{"name": "b", "clientConfig": map[string]any{}},
		map[string]any{"name": "c", "clientConfig": map[string]any{"caBundle": "Y2E="}},
	}, at(objects[3].Object, "webhooks"), "a line break is a placeholder")
	require.False(t, has(4, "spec", "conversion", "webhook", "clientConfig", "caBundle"))
	require.False(t, has(5, "spec", "caBundle"))
}

func TestLocalizedImagesReplaceImagesWithTheSameNameAndTag(t *testing.T) {
	t.Parallel()
	objects := parsed(t,
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {initContainers: [{image: 'docker.io/x/init:1'}], containers: [{image: 'ghcr.io/a/b/operator:1.0.0@sha256:abc'}, {image: 'other:1'}]}}}\n",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{image: 'operator:1.0.0'}]}}}}}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {image: 'operator:1.0.0'}\n",
	)
	replaceImages(objects, []string{"local.example.com/x/operator:1.0.0", "local.example.com/init:1", "local.example.com/other:2"})
	images := func(i int, path ...string) []any {
		var all []any
		containers, _, err := unstructured.NestedSlice(objects[i].Object, path...)
		require.NoError(t, err)
		for _, container := range containers {
			c, _ := container.(map[string]any)
			all = append(all, c["image"])
		}
		return all
	}
	require.Equal(t, []any{"local.example.com/x/operator:1.0.0", "other:1"}, images(0, "spec", "template", "spec", "containers"), "another tag is another image")
	require.Equal(t, []any{"local.example.com/init:1"}, images(0, "spec", "template", "spec", "initContainers"))
	require.Equal(t, []any{"local.example.com/x/operator:1.0.0"}, images(1, "spec", "jobTemplate", "spec", "template", "spec", "containers"))
	require.Equal(t, map[string]any{"image": "operator:1.0.0"}, objects[2].Object["data"])
}

// noKinds maps only built-in kinds, like a cluster without definitions.
type noKinds struct{ asked []schema.GroupVersionKind }

func (n *noKinds) Resource(_ context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	n.asked = append(n.asked, gvk)
	builtIn, ok := kinds.BuiltIn(gvk.GroupKind())
	if !ok {
		return kinds.Resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
	}
	return kinds.Resource{GroupVersionResource: gvk.GroupVersion().WithResource(builtIn.Plural), Namespaced: builtIn.Namespaced}, nil
}

const sampleCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: samples.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Sample, plural: samples}, versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]}
`

func TestThePlanPlacesObjects(t *testing.T) {
	t.Parallel()
	b := bundled(t, sampleCRD,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: there, namespace: elsewhere}\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'a:b_c', namespace: ignored}\n",
		"apiVersion: example.com/v1\nkind: Sample\nmetadata: {name: own}\n",
		"apiVersion: example.com/v1alpha1\nkind: Sample\nmetadata: {name: unserved}\n",
		"apiVersion: other.com/v1\nkind: Unknown\nmetadata: {name: unknown}\n",
		"apiVersion: other.com/v1\nkind: Optional\nmetadata: {name: optional, annotations: {operator.kyma-project.io/optional: 'true'}}\n",
	)
	p, err := PlanOf(context.Background(), &v1beta2.Manifest{}, b, kinds.Mapper{Own: b.Definitions, Cluster: &noKinds{}}, "kyma-system")
	require.NoError(t, err)
	var placed []string
	for _, objects := range p.Stages {
		for _, o := range objects {
			placed = append(placed, o.String())
		}
	}
	require.Equal(t, []string{
		"CustomResourceDefinition samples.example.com", "ConfigMap kyma-system/here", "ConfigMap elsewhere/there", "ClusterRole a:b_c", "Sample own",
	}, placed)
	require.Len(t, p.Entries, 5)
	require.Equal(t, "rbac.authorization.k8s.io_ClusterRole__a:b_c", p.Entries[3].ID)
	require.Len(t, p.Unknown, 2, "the optional one is skipped")
	require.Equal(t, 7, p.Objects())
}

func TestRecordedObjectsInTheDefaultNamespaceStayThere(t *testing.T) {
	t.Parallel()
	b := bundled(t,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: known}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: both}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: both, namespace: default}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: elsewhere}\n",
	)
	m := &v1beta2.Manifest{}
	for _, name := range []string{"known", "both", "moved"} {
		m.Status.Inventory = append(m.Status.Inventory, v1beta2.InventoryEntry{ID: "_ConfigMap_default_" + name, Version: "v1"})
	}
	p, err := PlanOf(context.Background(), m, b, kinds.Mapper{Cluster: &noKinds{}}, "kyma-system")
	require.NoError(t, err)
	var ids []string
	for _, e := range p.Entries {
		ids = append(ids, e.ID)
	}
	require.ElementsMatch(t, []string{
		"_ConfigMap_default_known", "_ConfigMap_kyma-system_new", "_ConfigMap_kyma-system_both", "_ConfigMap_default_both", "_ConfigMap_elsewhere_moved",
	}, ids)
}

func TestAnObjectGivenWithAndWithoutItsNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	b := bundled(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kyma-system}\n")
	_, err := PlanOf(context.Background(), &v1beta2.Manifest{}, b, kinds.Mapper{Cluster: &noKinds{}}, "kyma-system")
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Contains(t, err.Error(), "ConfigMap kyma-system/a")
}
