package apply

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// upstreams returns an object as upstream applied it, with a field that our version lacks.
func upstreams(apiVersion, kind, namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(kind + name), ResourceVersion: "1",
			Labels: map[string]string{shared.LabelManagedBy: shared.ManagedByKyma},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: shared.FieldManagerLifecycleManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: apiVersion,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:serviceAccountName":{}}}}}`),
			}},
		},
	}
}

// agentJob returns the installation of the agent in a cluster with the given objects, and the client that records its
// requests.
func agentJob(there ...runtime.Object) (*Installation, *fake.FakeMetadataClient) {
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	cluster := fake.NewSimpleMetadataClient(scheme, there...)
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: shared.RemoteAgentName("one")}}
	return &Installation{
		Target:          objects.NewTarget(m, &clusters.Cluster{Metadata: cluster, Mapper: clusters.NewMapper(nil)}, nil),
		RemoteNamespace: "kyma-system",
		Repair:          drift.Repair{Recorded: map[string]v1beta2.InventoryEntry{}},
	}, cluster
}

func agentDeployment() bundle.Placed {
	return bundle.Placed{
		Object:   &bundle.Object{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}},
		Resource: kinds.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true},
		Name:     types.NamespacedName{Namespace: "kyma-system", Name: shared.AgentName},
		Entry:    v1beta2.InventoryEntry{ID: "the agent's Deployment"},
	}
}

func verbs(cluster *fake.FakeMetadataClient) string {
	var all []string
	for _, action := range cluster.Actions() {
		all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return strings.Join(all, ", ")
}

func TestUpstreamsAgentIsTakenOverWithTheFieldsThatOursLacks(t *testing.T) {
	somebodys := upstreams("v1", "ConfigMap", "kyma-system", "skr-webhook-config")
	somebodys.Labels = nil
	job, cluster := agentJob(
		upstreams("apps/v1", "Deployment", "kyma-system", shared.AgentName), upstreams("v1", "ServiceAccount", "kyma-system", "skr-webhook-sa"),
		upstreams("rbac.authorization.k8s.io/v1", "ClusterRole", "", "kyma-reader"), somebodys,
	)
	require.NoError(t, takeFields(t.Context(), job, agentDeployment(), []byte(`{}`)))
	require.Equal(t, "get deployments, get configmaps, get clusterrolebindings, get clusterroles, delete clusterroles, "+
		"get serviceaccounts, delete serviceaccounts, patch deployments", verbs(cluster), "an object without upstream's label belongs to somebody else")
	live, err := cluster.Resource(agentDeployment().Resource.GroupVersionResource).Namespace("kyma-system").Get(t.Context(), shared.AgentName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, live.ManagedFields, 1)
	require.Contains(t, string(inventory.OwnEntry(live.ManagedFields).FieldsV1.GetRawBytes()), "f:serviceAccountName", "our next apply removes it")

	cluster.ClearActions()
	require.NoError(t, takeFields(t.Context(), job, agentDeployment(), []byte(`{}`)))
	require.Equal(t, "get deployments", verbs(cluster), "nothing is left to take over")
	job.Repair.Recorded["the agent's Deployment"] = v1beta2.InventoryEntry{Hash: "of our apply"}
	cluster.ClearActions()
	require.NoError(t, takeFields(t.Context(), job, agentDeployment(), []byte(`{}`)))
	require.Empty(t, verbs(cluster), "after our apply there are no more requests")
}

func TestWithoutUpstreamsAgentNothingIsTakenOver(t *testing.T) {
	job, cluster := agentJob()
	require.NoError(t, takeFields(t.Context(), job, agentDeployment(), []byte(`{}`)))
	require.Equal(t, "get deployments", verbs(cluster))

	cluster.ClearActions()
	job.Manifest.Name = "one-keda-1"
	require.NoError(t, takeFields(t.Context(), job, agentDeployment(), []byte(`{}`)))
	require.Empty(t, verbs(cluster), "a module's objects are in its inventory")
}

func TestTheDeletionOfALeftoverIsRetriedUnlessItIsForbidden(t *testing.T) {
	for reason, failure := range map[string]error{
		"not now":   apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "delete", schema.GroupResource{}, "", "", 0, false),
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "skr-webhook-sa", nil),
	} {
		t.Run(reason, func(t *testing.T) {
			job, cluster := agentJob(upstreams("apps/v1", "Deployment", "kyma-system", shared.AgentName), upstreams("v1", "ServiceAccount", "kyma-system", "skr-webhook-sa"))
			cluster.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
			err := takeFields(t.Context(), job, agentDeployment(), []byte(`{}`))
			if reason == "forbidden" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, failure)
			require.NotContains(t, verbs(cluster), "patch", "the Deployment still shows that leftovers have to be deleted")
		})
	}
}

func TestTheKeysOfASecretAppliedWithStringDataBecomeOurs(t *testing.T) {
	secret := upstreams("v1", "Secret", "kyma-system", "plain")
	secret.ManagedFields[0].Manager = shared.FieldManagerModuleResources
	secret.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:data":{"f:a":{}},"f:stringData":{"f:b":{}},"f:type":{}}`)
	job, cluster := agentJob(secret)
	job.Manifest.Annotations = nil
	at := bundle.Placed{
		Object:   &bundle.Object{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}},
		Resource: kinds.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespaced: true},
		Name:     types.NamespacedName{Namespace: "kyma-system", Name: "plain"},
		Entry:    v1beta2.InventoryEntry{ID: "the Secret", UID: "Secretplain", Hash: "x"},
	}
	job.Repair.Recorded[at.Entry.ID] = at.Entry
	job.Repair.Before.Seen = map[string]objects.LiveObject{at.Entry.ID: {Meta: secret}}
	body := []byte(`{"apiVersion":"v1","kind":"Secret","data":{"a":"YQ=="}}`)
	require.NoError(t, takeFields(t.Context(), job, at, body))
	require.Equal(t, "patch secrets", verbs(cluster), "the object is not read a second time")
	patch, isPatch := cluster.Actions()[0].(clienttesting.PatchAction)
	require.True(t, isPatch)
	require.Contains(t, string(patch.GetPatch()), `{"f:data":{"f:a":{},"f:b":{}},"f:type":{}}`)

	secret.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:data":{"f:a":{},"f:b":{}},"f:type":{}}`)
	cluster.ClearActions()
	require.NoError(t, takeFields(t.Context(), job, at, body))
	require.Empty(t, verbs(cluster), "the ownership moves once")
}
