package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestObjectsGetTheFormThatAnAPIServerStores(t *testing.T) {
	t.Parallel()
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: %}}}"
	pod := func(spec string) string { return strings.ReplaceAll(deployment, "%", spec) }
	for name, test := range map[string]struct{ given, want string }{
		"stringData goes before data": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==, b: eA==}, stringData: {b: 'y', c: , d: ''}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==, b: eQ==, c: '', d: ''}}",
		},
		"stringData alone": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: 'y'}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: eQ==}}",
		},
		"stringData with a number is for the API server to refuse": {
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: x, b: 1}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: x, b: 1}}",
		},
		"stringData of a custom kind": {
			"{apiVersion: example.com/v1, kind: Secret, metadata: {name: a}, stringData: {a: x}}",
			"{apiVersion: example.com/v1, kind: Secret, metadata: {name: a}, stringData: {a: x}}",
		},
		"a Secret in a list": {
			"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: 'y'}}]}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: eQ==}}",
		},
		"the account of pods by its current name":      {pod("{serviceAccountName: a, containers: []}"), pod("{serviceAccountName: a, serviceAccount: a, containers: []}")},
		"the account of pods by its deprecated name":   {pod("{serviceAccount: a, containers: []}"), pod("{serviceAccountName: a, serviceAccount: a, containers: []}")},
		"the account of pods by two different names":   {pod("{serviceAccountName: a, serviceAccount: b, containers: []}"), pod("{serviceAccountName: a, serviceAccount: a, containers: []}")},
		"a variable twice: the last one counts":        {pod("{containers: [{env: [{name: A, value: x}, {name: B}, {name: A, value: y}, {name: A, value: z}]}]}"), pod("{containers: [{env: [{name: B}, {name: A, value: z}]}]}")},
		"a variable of an init container twice":        {pod("{initContainers: [{env: [{name: A, value: x}, {name: A, valueFrom: {}}]}], containers: []}"), pod("{initContainers: [{env: [{name: A, valueFrom: {}}]}], containers: []}")},
		"a variable of two containers":                 {pod("{containers: [{env: [{name: A}]}, {env: [{name: A}]}]}"), pod("{containers: [{env: [{name: A}]}, {env: [{name: A}]}]}")},
		"variables without a name":                     {pod("{containers: [{env: [{}, {}, a, a]}]}"), pod("{containers: [{env: [{}, {}, a, a]}]}")},
		"a port twice, once with a name":               {pod("{containers: [{ports: [{containerPort: 80, name: a}, {containerPort: 80, protocol: TCP}]}]}"), pod("{containers: [{ports: [{containerPort: 80, name: a, protocol: TCP}]}]}")},
		"a port of two protocols":                      {pod("{containers: [{ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}]}"), pod("{containers: [{ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]}]}")},
		"a port with two names, which are both in use": {pod("{containers: [{ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]}]}"), pod("{containers: [{ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}]}]}")},
		"a pull secret twice":                          {pod("{imagePullSecrets: [{name: a}, {name: b}, {name: a}], containers: []}"), pod("{imagePullSecrets: [{name: b}, {name: a}], containers: []}")},
		"an address twice":                             {pod("{hostAliases: [{ip: 1.1.1.1, hostnames: [a]}, {ip: 1.1.1.1, hostnames: [b]}], containers: []}"), pod("{hostAliases: [{ip: 1.1.1.1, hostnames: [b, a]}], containers: []}")},
		"a mount path twice is for the API server to refuse": {
			pod("{containers: [{volumeMounts: [{mountPath: /a, name: a}, {mountPath: /a, name: b}]}]}"), pod("{containers: [{volumeMounts: [{mountPath: /a, name: a}, {mountPath: /a, name: b}]}]}"),
		},
		"a variable of a CronJob": {
			"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{env: [{name: A, value: x}, {name: A, value: y}]}]}}}}}}",
			"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{env: [{name: A, value: y}]}]}}}}}}",
		},
		"a variable of a Pod": {
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{env: [{name: A, value: x}, {name: A, value: y}]}]}}",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{env: [{name: A, value: y}]}]}}",
		},
		"a secret of a ServiceAccount twice": {
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: a}, {name: a}]}",
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: a}]}",
		},
		"containers of a custom kind": {
			"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {containers: [{env: [{name: A}, {name: A}]}]}}",
			"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {containers: [{env: [{name: A}, {name: A}]}]}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewParser(Limits{}.WithDefaults())
			require.NoError(t, p.Documents("it", []byte(test.given)))
			require.Len(t, p.Rendered.Objects, 1)
			got, err := p.Rendered.Objects[0].MarshalJSON()
			require.NoError(t, err)
			want, err := yaml.YAMLToJSON([]byte(test.want))
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		})
	}
}

func TestTheStringDataOfAHookBecomesData(t *testing.T) {
	t.Parallel()
	rendered, err := Answer{Texts: []File{{Name: "a", Content: []byte("{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {helm.sh/hook: pre-install}}, stringData: {b: 'y'}}")}}}.
		Objects(Limits{}.WithDefaults())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"b": "eQ=="}, rendered.Hooks[0].Object.Object["data"])
}
