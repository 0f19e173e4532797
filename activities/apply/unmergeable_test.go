package apply

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestAPortThatClashesWithOursIsTakenOver(t *testing.T) {
	raw, err := yaml.YAMLToJSON([]byte(`
apiVersion: v1
kind: Service
metadata:
  name: s
  managedFields:
  - {manager: declarative.kyma-project.io/applier, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:selector": {}}}}
  - manager: kubectl-edit
    operation: Update
    apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:ports": {'k:{"port":81,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}, 'k:{"port":99,"protocol":"TCP"}': {".": {}, "f:name": {}}}}}
spec:
  ports: [{name: http, port: 81, protocol: TCP}, {name: mine, port: 99, protocol: TCP}]
`))
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(raw))
	w := &unstructured.Unstructured{}
	require.NoError(t, w.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"name":"http","port":80},{"name":"dns","port":53,"protocol":"UDP"}]}}`)))
	patch, err := takeClashing(u, w.Object)
	require.NoError(t, err)
	var now map[string]any
	require.NoError(t, json.Unmarshal(patch, &now), string(patch))
	managed, _, _ := unstructured.NestedSlice(now, "metadata", "managedFields")
	require.Len(t, managed, 2)
	text := func(i int) string { encoded, _ := json.Marshal(managed[i]); return string(encoded) }
	require.Contains(t, text(0), `"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}`)
	require.Contains(t, text(1), `"k:{\"port\":99,\"protocol\":\"TCP\"}"`)
	require.NotContains(t, text(1), `\"port\":81`)
}
