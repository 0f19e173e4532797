package apply

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
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
	managed, err := take(u, w.Object, nil)
	require.NoError(t, err)
	require.Len(t, managed, 2)
	text := func(i int) string { encoded, _ := json.Marshal(managed[i]); return string(encoded) }
	require.Contains(t, text(0), `"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}}`)
	require.Contains(t, text(1), `"k:{\"port\":99,\"protocol\":\"TCP\"}"`)
	require.NotContains(t, text(1), `\"port\":81`)
}

// liveObject returns an object as in a cluster: we own the fields in owned, cert-manager owns those in theirs, and
// nobody owns the rest.
func liveObject(t *testing.T, content, owned, theirs string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(content))
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: map[string]any{}}
	require.NoError(t, json.Unmarshal(raw, &u.Object))
	u.SetAPIVersion("v1")
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		encoded, err := yaml.YAMLToJSON([]byte(fields))
		require.NoError(t, err)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(encoded))}
	}
	managed := []metav1.ManagedFieldsEntry{entry(shared.FieldManagerModuleResources, metav1.ManagedFieldsOperationApply, owned)}
	if theirs != "" {
		managed = append(managed, entry("cert-manager", metav1.ManagedFieldsOperationUpdate, theirs))
	}
	u.SetManagedFields(managed)
	return u
}

func TestOnlyFieldsThatExcludeTheNewRenderingAreInTheWay(t *testing.T) {
	t.Parallel()
	forbidden, invalid := metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueInvalid
	cases := map[string]struct {
		live, owned, theirs, wanted string
		cause                       metav1.StatusCause
		want                        []string
	}{
		"the rolling update of a Deployment with the strategy Recreate": {
			live:   "{spec: {replicas: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}, revisionHistoryLimit: 10}}",
			owned:  "{f:spec: {f:replicas: {}}}",
			wanted: "{spec: {replicas: 1, strategy: {type: Recreate}}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.strategy.rollingUpdate", Message: "Forbidden: may not be specified when strategy `type` is 'Recreate'"},
			want:   []string{".spec.strategy.rollingUpdate"},
		},
		"the same if the module says null": {
			live:   "{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}}",
			owned:  "{f:spec: {}}",
			wanted: "{spec: {strategy: {type: Recreate, rollingUpdate: null}}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.strategy.rollingUpdate", Message: "Forbidden: no"},
			want:   []string{".spec.strategy.rollingUpdate"},
		},
		"the CA bundle of a removed conversion, under another name in the cause": {
			live:   "{spec: {scope: Namespaced, conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: YQ==, url: x}}}}}",
			owned:  "{f:spec: {f:scope: {}, f:conversion: {f:strategy: {}, f:webhook: {f:clientConfig: {f:url: {}}}}}}",
			theirs: "{f:spec: {f:conversion: {f:webhook: {f:clientConfig: {f:caBundle: {}}}}}}",
			wanted: "{spec: {scope: Namespaced}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.conversion.webhookClientConfig", Message: "Forbidden: should not be set when strategy is not set to Webhook"},
			want:   []string{".spec.conversion"},
		},
		"the same if the new version names its strategy": {
			live:   "{spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: YQ==}}}}}",
			owned:  "{f:spec: {f:conversion: {f:strategy: {}}}}",
			theirs: "{f:spec: {f:conversion: {f:webhook: {f:clientConfig: {f:caBundle: {}}}}}}",
			wanted: "{spec: {conversion: {strategy: None}}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.conversion.webhookClientConfig", Message: "Forbidden: should not be set when strategy is not set to Webhook"},
			want:   []string{".spec.conversion.webhook"},
		},
		"the empty directory that a volume has by default": {
			live:   "{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}}",
			owned:  `{f:spec: {f:volumes: {'k:{"name":"a"}': {".": {}, f:name: {}}, 'k:{"name":"b"}': {".": {}, f:name: {}}}}}`,
			wanted: "{spec: {volumes: [{name: b}, {name: a, configMap: {name: x}}]}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.volumes[1].configMap", Message: "Forbidden: may not specify more than 1 volume type"},
			want:   []string{`.spec.volumes[name="a"].emptyDir`},
		},
		"the value that somebody gave to an environment variable": {
			live:   "{spec: {containers: [{name: c, image: i, env: [{name: A, value: x}], terminationMessagePath: /x}, {name: injected, image: j}]}}",
			owned:  `{f:spec: {f:containers: {'k:{"name":"c"}': {".": {}, f:name: {}, f:image: {}, f:env: {'k:{"name":"A"}': {".": {}, f:name: {}}}}}}}`,
			theirs: `{f:spec: {f:containers: {'k:{"name":"c"}': {f:env: {'k:{"name":"A"}': {f:value: {}}}}, 'k:{"name":"injected"}': {".": {}, f:name: {}, f:image: {}}}}}`,
			wanted: "{spec: {containers: [{name: c, image: i, env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}]}}",
			cause:  metav1.StatusCause{Type: invalid, Field: "spec.containers[0].env[0].valueFrom", Message: "Invalid value: \"\": may not be specified when `value` is not empty"},
			want:   []string{`.spec.containers[name="c"].env[name="A"].value`},
		},
		"one of two numbers of a budget, and not the policy beside it": {
			live:   "{spec: {minAvailable: 1, maxUnavailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow}}",
			owned:  "{f:spec: {f:selector: {}}}",
			theirs: "{f:spec: {f:maxUnavailable: {}, f:unhealthyPodEvictionPolicy: {}}}",
			wanted: "{spec: {minAvailable: 1}}",
			cause:  metav1.StatusCause{Type: invalid, Field: "spec", Message: `Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set`},
			want:   []string{".spec.maxUnavailable"},
		},
		"the url of a webhook that has a service now, and not its bundle": {
			live:   "{webhooks: [{name: a, clientConfig: {url: x, caBundle: YQ==}, timeoutSeconds: 10}]}",
			owned:  `{f:webhooks: {'k:{"name":"a"}': {".": {}, f:name: {}}}}`,
			theirs: `{f:webhooks: {'k:{"name":"a"}': {f:clientConfig: {f:url: {}, f:caBundle: {}}}}}`,
			wanted: "{webhooks: [{name: a, clientConfig: {service: {name: s}}}]}",
			cause:  metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "webhooks[0].clientConfig", Message: "Required value: exactly one of url or service is required"},
			want:   []string{`.webhooks[name="a"].clientConfig.url`},
		},
		"the handler of a probe that another manager set, and not its period": {
			live:   "{spec: {livenessProbe: {exec: {command: [a]}, periodSeconds: 3}}}",
			owned:  "{f:spec: {}}",
			theirs: "{f:spec: {f:livenessProbe: {f:exec: {f:command: {}}, f:periodSeconds: {}}}}",
			wanted: "{spec: {livenessProbe: {httpGet: {port: 80}}}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.livenessProbe.httpGet", Message: "Forbidden: may not specify more than 1 handler type"},
			want:   []string{".spec.livenessProbe.exec"},
		},
		"a field of a load balancer in the API server's own spelling": {
			live:   "{spec: {type: LoadBalancer, loadBalancerSourceRanges: [a], ports: [{port: 80, protocol: TCP}]}}",
			owned:  "{f:spec: {f:type: {}}}",
			theirs: "{f:spec: {f:loadBalancerSourceRanges: {}}}",
			wanted: "{spec: {type: ClusterIP, ports: [{port: 80}]}}",
			cause:  metav1.StatusCause{Type: forbidden, Field: "spec.LoadBalancerSourceRanges", Message: "Forbidden: may only be used when `type` is 'LoadBalancer'"},
			want:   []string{".spec.loadBalancerSourceRanges"},
		},
		"nothing, of a field that cannot be changed": {
			live:   "{spec: {selector: {a: b}, strategy: {type: RollingUpdate}}}",
			owned:  "{f:spec: {f:selector: {f:a: {}}}}",
			wanted: "{spec: {selector: {a: c}}}",
			cause:  metav1.StatusCause{Type: invalid, Field: "spec.selector", Message: `Invalid value: {"a":"c"}: field is immutable`},
		},
		"nothing, of a value that is wrong by itself": {
			live:   "{spec: {replicas: 1, strategy: {type: RollingUpdate}, paused: true}}",
			owned:  "{f:spec: {f:replicas: {}}}",
			theirs: "{f:spec: {f:paused: {}}}",
			wanted: "{spec: {replicas: -1}}",
			cause:  metav1.StatusCause{Type: invalid, Field: "spec.replicas", Message: "Invalid value: -1: must be greater than or equal to 0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := liveObject(t, tc.live, tc.owned, tc.theirs)
			wanted := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(tc.wanted), &wanted))
			var found []string
			for _, l := range inTheWay(leftoversOf(live.Object, wanted, live.GetManagedFields()), []metav1.StatusCause{tc.cause}, wanted) {
				found = append(found, l.path.String())
			}
			require.Equal(t, tc.want, found)
			managed, err := take(live, wanted, []metav1.StatusCause{tc.cause})
			require.NoError(t, err)
			if len(tc.want) == 0 {
				require.Nil(t, managed, "nothing is written")
				return
			}
			own := inventory.FieldsIn(inventory.OwnEntry(managed))
			for i := range managed {
				for path := range inventory.FieldsIn(&managed[i]).All() {
					if managed[i].Manager == "cert-manager" {
						require.NotContains(t, path.String(), tc.want[0])
					}
				}
			}
			require.Contains(t, own.String(), tc.want[0])
		})
	}
}
