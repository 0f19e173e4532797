package schematest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	digest  = "sha256:8f926a08ca246707beb9c902e6df7e8c3e89d2e75ff4732f8f00c424ba8456bf"
	source  = "{repo: registry.example.com/component-descriptors, name: kyma-project.io/module/keda, ref: '" + digest + "', type: oci-ref}"
	install = "install: {name: keda, source: " + source + "}"
)

func TestManifestSpec(t *testing.T) {
	spec := func(line string) string { return "spec: {" + install + ", " + line + "}" }
	requireVerdicts(t, "Manifest", []verdict{
		{"the least", "spec: {" + install + "}", ""},
		{"no spec", "{}", "spec: Required value"},
		{"no install", "spec: {remote: true}", "spec.install: Required value"},
		{"install without a name", "spec: {install: {source: " + source + "}}", "spec.install.name: Required value"},
		{"install without a source", "spec: {install: {name: keda}}", "spec.install.source: Required value"},

		{"policy Ignore", spec("customResourcePolicy: Ignore"), ""},
		{"an unknown policy", spec("customResourcePolicy: Keep"), "spec.customResourcePolicy: Unsupported value"},
		{"remote, with a version", spec("remote: true, version: v0.2.3"), ""},
		{"a version of 129 characters", spec("version: " + strings.Repeat("a", 129)), "spec.version"},
		{"no resource", spec("resource: null"), ""},
		{"a resource", spec("resource: {apiVersion: a/v1, kind: Keda, metadata: {name: keda}, spec: {any: [thing]}}"), ""},
		{"a resource without a name", spec("resource: {apiVersion: a/v1, kind: Keda}"), ""},
		{"a resource without a kind", spec("resource: {apiVersion: a/v1}"), "spec.resource.kind: Required value"},
		{"localized images", spec("localizedImages: [registry.example.com/keda:1.2.3]"), ""},
		{"a localized image that is far too long", spec("localizedImages: [" + strings.Repeat("a", 1025) + "]"), "spec.localizedImages[0]"},
		{"a manager", spec("manager: {group: apps, version: v1, kind: Deployment, name: keda}"), ""},
		{"a manager without a version", spec("manager: {group: apps, kind: Deployment, name: keda}"), "spec.manager.version: Required value"},
		{"a manager of the core group", spec("manager: {version: v1, kind: Pod, name: keda}"), ""},
	})
}

// Both layers of a Manifest are given in the same way.
func TestManifestLayers(t *testing.T) {
	layers := map[string]string{
		"spec.config":         "spec: {" + install + ", config: %s}",
		"spec.install.source": "spec: {install: {name: keda, source: %s}}",
	}
	for path, document := range layers {
		t.Run(path, func(t *testing.T) {
			layer := func(text string) string { return fmt.Sprintf(document, text) }
			requireVerdicts(t, "Manifest", []verdict{
				{"type oci-ref", layer("{repo: r, name: c, ref: x, type: oci-ref}"), ""},
				{"type oci-dir", layer("{repo: r, name: c, ref: x, type: oci-dir}"), ""},
				{"type helm-chart", layer("{repo: r, name: c, ref: x, type: helm-chart}"), ""},
				{"an unknown type", layer("{repo: r, name: c, ref: x, type: kustomize}"), path + ".type: Unsupported value"},
				{"no type", layer("{repo: r, name: c, ref: x}"), path + ".type: Required value"},
				{"no repo", layer("{name: c, ref: x, type: oci-ref}"), path + ".repo: Required value"},
				{"an empty repo", layer("{repo: '', name: c, ref: x, type: oci-ref}"), path + ".repo"},
				{"no name", layer("{repo: r, ref: x, type: oci-ref}"), path + ".name: Required value"},
				{"an empty name", layer("{repo: r, name: '', ref: x, type: oci-ref}"), path + ".name"},
				{"no ref", layer("{repo: r, name: c, type: oci-ref}"), path + ".ref: Required value"},
				{"an empty ref", layer("{repo: r, name: c, ref: '', type: oci-ref}"), path + ".ref"},
				{
					"credentials by a selector, as earlier generations have it",
					layer("{repo: r, name: c, ref: x, type: oci-ref, credSecretSelector: {matchLabels: {a: b}}}"), "",
				},
				{
					"a selector of credentials that is none",
					layer("{repo: r, name: c, ref: x, type: oci-ref, credSecretSelector: {matchExpressions: [{key: a}]}}"), "operator: Required value",
				},
				{"media type and size", layer("{repo: r, name: c, ref: x, type: oci-ref, mediaType: a/b, size: 12}"), ""},
				{"a negative size", layer("{repo: r, name: c, ref: x, type: oci-ref, size: -1}"), path + ".size"},
			})
		})
	}
}

func TestManifestStatus(t *testing.T) {
	withSpec := func(verdicts []verdict) []verdict {
		for i := range verdicts {
			verdicts[i].yaml = "spec: {" + install + "}\n" + verdicts[i].yaml
		}
		return verdicts
	}
	requireVerdicts(t, "Manifest", withSpec(append(stateVerdicts(), []verdict{
		{"a status with all fields", manifestStatus, ""},
		{"an inventory entry without an id", "status: {inventory: [{v: v1}]}", "status.inventory[0].id: Required value"},
		{"an inventory entry without a version", "status: {inventory: [{id: _Pod_a_b}]}", "status.inventory[0].v: Required value"},
		{
			"a default CR in an unknown state",
			"status: {defaultCR: {apiVersion: a/v1, kind: Keda, name: keda, state: Fine}}", "status.defaultCR.state: Unsupported value",
		},
		{"a default CR without a name", "status: {defaultCR: {apiVersion: a/v1, kind: Keda}}", "status.defaultCR.name: Required value"},
		{"counts without a total", "status: {counts: {ready: 1, failed: 0}}", "status.counts.total: Required value"},
		{"a last operation without words", "status: {lastOperation: {}}", "status.lastOperation.operation: Required value"},
		{"a synced object without a kind", "status: {synced: [{version: v1, name: a}]}", "status.synced[0].kind: Required value"},
	}...)))
}

func TestManifestDefaults(t *testing.T) {
	for _, version := range servedVersions(t)["Manifest"] {
		t.Run(version.version, func(t *testing.T) {
			got := version.admit(t, version.object(t, "spec: {"+install+"}"))
			require.Empty(t, got.errs)
			require.Equal(t, map[string]any{
				"customResourcePolicy": "CreateAndDelete",
				"install": map[string]any{
					"name": "keda",
					"source": map[string]any{
						"repo": "registry.example.com/component-descriptors",
						"name": "kyma-project.io/module/keda",
						"ref":  digest,
						"type": "oci-ref",
					},
				},
			}, got.object["spec"])
		})
	}
}

// What the tests above say about Manifests holds for RemoteAgents: the same engine installs both.
func TestARemoteAgentHasTheSchemaOfAManifest(t *testing.T) {
	definitions := readDefinitions(t)
	fields := func(kind string) map[string]apiextensionsv1.JSONSchemaProps {
		for _, version := range definitions[kind].Spec.Versions {
			if version.Name == "v1beta2" {
				return version.Schema.OpenAPIV3Schema.Properties
			}
		}
		require.FailNow(t, "no version v1beta2", kind)
		return nil
	}
	require.Equal(t, fields("Manifest")["spec"], fields("RemoteAgent")["spec"])
	require.Equal(t, fields("Manifest")["status"], fields("RemoteAgent")["status"])
}

const manifestStatus = `
status:
  state: Warning
  lastOperation: {operation: installation is ready, lastUpdateTime: "2026-11-20T23:42:00Z"}
  conditions:
  - {type: Resources, status: "True", reason: ResourcesAvailable, message: a, lastTransitionTime: "2026-11-20T23:42:00Z"}
  - {type: Installation, status: "True", reason: Ready, message: b, lastTransitionTime: "2026-11-20T23:42:00Z"}
  - {type: ModuleCR, status: "True", reason: ModuleCRCreated, message: c, lastTransitionTime: "2026-11-20T23:42:00Z"}
  synced:
  - {group: apps, version: v1, kind: Deployment, name: keda, namespace: kyma-system}
  - {group: "", version: v1, kind: Namespace, name: kyma-system, namespace: ""}
  observedGeneration: 2
  inputsDigest: sha256:abc
  settled: true
  installedVersion: 1.2.3
  installedRef: sha256:def
  inventory:
  - {id: apps_Deployment_kyma-system_keda, v: v1, u: 5c1a1f60-2f86-4c34-9e0d-1b1f5f8f3f11, h: 0123456789abcdef}
  - {id: _Namespace__kyma-system, v: v1}
  counts: {total: 2, ready: 1, failed: 0}
  defaultCR:
    apiVersion: operator.kyma-project.io/v1alpha1
    kind: Keda
    namespace: kyma-system
    name: default
    uid: 5c1a1f60-2f86-4c34-9e0d-1b1f5f8f3f11
    state: Ready
`
