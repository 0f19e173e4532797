package inventory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func fieldsOf(raw string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	f.SetRawBytes([]byte(raw))
	return f
}

// applied is a live object as we applied it.
func applied(change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"operator.kyma-project.io/applied-digest": "d1"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: "Update", FieldsV1: fieldsOf("{}")},
			{Manager: "declarative.kyma-project.io/applier", Operation: "Apply", APIVersion: "v1", FieldsV1: fieldsOf(`{"f:data":{}}`)},
		},
	}}
	for _, c := range change {
		c(o)
	}
	return o
}

func TestTheHashCoversOurFieldsAndTheRendering(t *testing.T) {
	t.Parallel()
	ours := func(o *metav1.PartialObjectMetadata) *metav1.ManagedFieldsEntry { return &o.ManagedFields[1] }
	hash := ObjectHash(applied())
	require.Len(t, hash, 16)
	for what, change := range map[string]func(*metav1.PartialObjectMetadata){
		"the time of our entry does not matter": func(o *metav1.PartialObjectMetadata) { now := metav1.Now(); ours(o).Time = &now },
		"fields of others do not matter":        func(o *metav1.PartialObjectMetadata) { o.ManagedFields[0].FieldsV1 = fieldsOf(`{"f:a":{}}`) },
		"other annotations do not matter":       func(o *metav1.PartialObjectMetadata) { o.Annotations["a"] = "b" },
		"the object's version does not matter":  func(o *metav1.PartialObjectMetadata) { o.ResourceVersion, o.Generation = "7", 2 },
	} {
		require.Equal(t, hash, ObjectHash(applied(change)), what)
	}
	for what, change := range map[string]func(*metav1.PartialObjectMetadata){
		"a field was taken from us":        func(o *metav1.PartialObjectMetadata) { ours(o).FieldsV1 = fieldsOf(`{}`) },
		"it is applied in another version": func(o *metav1.PartialObjectMetadata) { ours(o).APIVersion = "v2" },
		"it is another rendering":          func(o *metav1.PartialObjectMetadata) { o.Annotations["operator.kyma-project.io/applied-digest"] = "d0" },
		"the digest was removed":           func(o *metav1.PartialObjectMetadata) { o.Annotations = nil },
	} {
		require.NotEqual(t, hash, ObjectHash(applied(change)), what)
	}
	for what, change := range map[string]func(*metav1.PartialObjectMetadata){
		"what we only updated is not owned":        func(o *metav1.PartialObjectMetadata) { ours(o).Operation = "Update" },
		"a subresource is not the object":          func(o *metav1.PartialObjectMetadata) { ours(o).Subresource = "status" },
		"nobody owns cleared managed fields":       func(o *metav1.PartialObjectMetadata) { o.ManagedFields = nil },
		"an entry without fields owns nothing":     func(o *metav1.PartialObjectMetadata) { ours(o).FieldsV1 = nil },
		"what another manager applied is not ours": func(o *metav1.PartialObjectMetadata) { ours(o).Manager = "helm" },
	} {
		require.Empty(t, ObjectHash(applied(change)), what)
	}
}

func TestTheHashDoesNotDependOnEncodingOrOrder(t *testing.T) {
	t.Parallel()
	as := func(raw string) *metav1.PartialObjectMetadata {
		return applied(func(o *metav1.PartialObjectMetadata) { o.ManagedFields[1].FieldsV1 = fieldsOf(raw) })
	}
	require.Equal(t, ObjectHash(as(`{"f:a<b>&c":{}}`)), ObjectHash(as(`{"f:a\u003cb\u003e\u0026c":{}}`)))
	require.NotEqual(t, ObjectHash(as(`{"f:a<b":{}}`)), ObjectHash(as(`{"f:ab":{}}`)))
	require.Equal(t, ObjectHash(as(`{"f:p":{"k:{\"port\":80}":{".":{},"f:a":{}},"k:{\"port\":443}":{".":{}}}}`)),
		ObjectHash(as(`{"f:p":{"k:{\"port\":443}":{".":{}},"k:{\"port\":80}":{"f:a":{}, ".":{}}}}`)), "whatever the order")
	for _, other := range []string{
		`{"f:p":{"k:{\"port\":80}":{".":{}},"k:{\"port\":443}":{".":{},"f:a":{}}}}`, `{"f:p":{"k:{\"port\":80}":{".":{},"f:a":{}}}}`,
		`{"f:p":{},"k:{\"port\":80}":{".":{},"f:a":{}},"k:{\"port\":443}":{".":{}}}`, `{"f:p":`, `}}}`, `"`, ``,
	} {
		require.NotEqual(t, ObjectHash(as(`{"f:p":{"k:{\"port\":80}":{".":{},"f:a":{}},"k:{\"port\":443}":{".":{}}}}`)), ObjectHash(as(other)), other)
	}
}

func TestAFingerprintLeavesOutObjectsThatRunOnceOrAreNotOurs(t *testing.T) {
	t.Parallel()
	inventory := []v1beta2.InventoryEntry{
		{ID: "_ConfigMap_ns_a", Version: "v1", UID: "1", Hash: "h1"},
		{ID: "apps_Deployment_ns_b", Version: "v1", UID: "2", Hash: "h2"},
	}
	first := Fingerprint(inventory)
	require.Len(t, first, 32)
	with := func(change func(e *v1beta2.InventoryEntry)) string {
		changed := slices.Clone(inventory)
		change(&changed[1])
		return Fingerprint(changed)
	}
	require.NotEqual(t, first, with(func(e *v1beta2.InventoryEntry) { e.UID = "3" }), "a recreated object is a different object")
	require.NotEqual(t, first, with(func(e *v1beta2.InventoryEntry) { e.Hash = "h3" }))
	require.NotEqual(t, first, with(func(e *v1beta2.InventoryEntry) { e.ID = "apps_Deployment_ns_c" }))
	require.NotEqual(t, first, Fingerprint(inventory[:1]), "a deleted object is missing")
	require.Equal(t, first, FingerprintOf([]FingerprintEntry{{"apps_Deployment_ns_b", "2", "h2"}, {"_ConfigMap_ns_a", "1", "h1"}}),
		"in any order")
	require.Equal(t, first, Fingerprint(append(slices.Clone(inventory),
		v1beta2.InventoryEntry{ID: "batch_Job_ns_j", Version: "v1", UID: "4", Hash: "h4"},
		v1beta2.InventoryEntry{ID: "_ConfigMap_ns_hook", Version: "v1", UID: "5", Hash: "h5", Ran: "sha256:1"},
		v1beta2.InventoryEntry{ID: "_Namespace__theirs", Version: "v1", UID: "6"},
	)), "objects that run once may be gone, and a namespace of others is not ours")
	require.Empty(t, Fingerprint(nil))
}

func TestObjectsWithCopiedAnnotationsDoNotCount(t *testing.T) {
	t.Parallel()
	yes := true
	controlled := func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "d", Controller: &yes}}
	}
	copied := func(o *metav1.PartialObjectMetadata) { o.ManagedFields = o.ManagedFields[:1] }
	replicaSet, job := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "batch", Kind: "Job"}
	require.True(t, InFingerprint(replicaSet, applied()))
	require.False(t, InFingerprint(replicaSet, applied(controlled, copied)), "a ReplicaSet has the annotations of its Deployment")
	require.True(t, InFingerprint(replicaSet, applied(controlled)), "an operator may become the controller of an object that its module installed")
	require.True(t, InFingerprint(replicaSet, applied(copied)), "an object that a user copied is found")
	require.False(t, InFingerprint(job, applied()))
	require.False(t, InFingerprint(replicaSet, applied(func(o *metav1.PartialObjectMetadata) { o.Annotations["helm.sh/hook"] = "pre-install" })))
}

// manyApplied are live objects as the sweep reads them in a cluster with many modules.
func manyApplied(n int) []*metav1.PartialObjectMetadata {
	fields := `{"f:metadata":{"f:annotations":{"f:operator.kyma-project.io/applied-digest":{},"f:operator.kyma-project.io/managed-by-reconciler-disclaimer":{},` +
		`"f:operator.kyma-project.io/owned-by":{}},"f:labels":{"f:app.kubernetes.io/component":{},"f:app.kubernetes.io/part-of":{},"f:operator.kyma-project.io/managed-by":{}}},` +
		`"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:targetPort":{}}},"f:selector":{}}}`
	all := make([]*metav1.PartialObjectMetadata, n)
	for i := range all {
		all[i] = applied(func(o *metav1.PartialObjectMetadata) {
			o.Namespace, o.Name, o.UID = "kyma-system", fmt.Sprintf("object-%03d", i), "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
			o.ManagedFields[1].FieldsV1 = fieldsOf(fields)
		})
	}
	return all
}
