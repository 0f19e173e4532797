package lifecycle

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// withOurOwn is a module that brings Lifecycle Manager's objects, in addition to its own.
const withOurOwn = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kymas.operator.kyma-project.io, labels: {taken: ID}}
spec:
  group: operator.kyma-project.io
  scope: Namespaced
  names: {kind: Kyma, plural: kymas, singular: kyma, listKind: KymaList}
  versions: [{name: v1beta2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: operator.kyma-project.io/v1beta2
kind: Kyma
metadata: {name: ID, namespace: default}
spec: {channel: taken}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: skr-webhook, namespace: kyma-system}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own, namespace: ID-remote}
`

func TestAModuleCannotBringOrRemoveWhatIsLifecycleManagersOwn(t *testing.T) {
	s := newSeparateEnvironment(t, withOurOwn, nil)
	ctx := context.Background()
	definitions, err := crds.Get(crds.Kymas)
	require.NoError(t, err)
	ours := definitions[0]
	ours.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	require.NoError(t, s.remote.Patch(ctx, ours, client.Apply, client.FieldOwner("test"), client.ForceOwnership)) //nolint:staticcheck // a typed object
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.id}, Spec: v1beta2.KymaSpec{Channel: "regular"}}
	require.Eventually(t, func() bool { return s.remote.Create(ctx, kyma) == nil }, time.Minute, pollEvery)
	t.Cleanup(func() { _ = s.remote.Delete(ctx, kyma) })

	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Equal(t, shared.StateError, result.Observed.State)
	require.Contains(t, result.Observed.Message, "to Lifecycle Manager")
	require.Contains(t, result.Observed.Message, "Lifecycle Manager's agent")
	require.NotNil(t, s.get("v1", "ConfigMap", "ID-remote", "own"), "the rest is applied")
	require.NotContains(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", ours.Name).GetLabels(), "taken")
	channel, _, err := unstructured.NestedString(s.get("operator.kyma-project.io/v1beta2", "Kyma", "default", s.id).Object, "spec", "channel")
	require.NoError(t, err)
	require.Equal(t, "regular", channel)
	for _, e := range s.read().Status.Inventory {
		require.NotContains(t, e.ID, "kyma", "what is refused is in no inventory")
	}

	// Earlier versions allowed it: their marks are on our objects, which are in the inventory.
	marks, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{shared.AnnotationOwnedBy: s.id + "/" + s.id + "-sample"},
		"labels":      map[string]string{shared.LabelComponent: s.id + "-sample", shared.LabelManagedBy: shared.ManagedByKyma},
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.remote.Patch(ctx, ours, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null,"labels":null}}`)))
	})
	inventory := s.read().Status.Inventory
	for _, object := range []client.Object{ours, kyma} {
		require.NoError(t, s.remote.Patch(ctx, object, client.RawPatch(types.MergePatchType, marks)))
		gvk := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
		if object == kyma {
			gvk = v1beta2.GroupVersion.WithKind(shared.KindKyma)
		}
		entry, err := v1beta2.NewInventoryEntry(gvk, client.ObjectKeyFromObject(object))
		require.NoError(t, err)
		entry.UID = string(object.GetUID())
		inventory = append(inventory, entry)
	}
	m := s.read()
	m.Status.Inventory = inventory
	m.Status.DefaultCR = &v1beta2.DefaultCRRecord{APIVersion: v1beta2.GroupVersion.String(), Kind: "Kyma", Namespace: "default", Name: s.id, UID: string(kyma.UID)}
	require.NoError(t, s.control.Status().Update(ctx, m))
	s.delete()
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	require.Nil(t, s.get("v1", "ConfigMap", "ID-remote", "own"))
	require.NotNil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", ours.Name))
	require.Nil(t, s.get("operator.kyma-project.io/v1beta2", "Kyma", "default", s.id).GetDeletionTimestamp())
}

func TestANamespaceThatExistedBeforeLosesWhatAModuleSetOnIt(t *testing.T) {
	s := newEnvironment(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: ID, labels: {module: its-own, both: module}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: ID}\n", nil)
	ctx := context.Background()
	require.NoError(t, s.remote.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id, Labels: map[string]string{"user": "theirs"}}}))
	s.install()
	labels := s.get("v1", "Namespace", "", "ID").GetLabels()
	require.Equal(t, "its-own", labels["module"])
	require.Contains(t, labels, shared.LabelManagedBy)
	s.delete()
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	remaining := s.get("v1", "Namespace", "", "ID")
	require.NotNil(t, remaining)
	require.Nil(t, remaining.GetDeletionTimestamp())
	require.Equal(t, map[string]string{"user": "theirs", "kubernetes.io/metadata.name": s.id}, remaining.GetLabels())
	require.NotContains(t, remaining.GetAnnotations(), shared.AnnotationOwnedBy)
}
