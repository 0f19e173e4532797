package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
)

const (
	goodConfig = `
name: kyma-project.io/module/widget
moduleName: widget
version: 1.0.0
manifest: manifest.yaml
defaultCR: default-cr.yaml
`
	goodDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
              mode: {type: string, enum: [fast, safe], default: safe}
              parts:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string}}}
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
            x-kubernetes-validations:
            - {rule: "self.mode != 'fast' || self.size < 10", message: a fast one is small}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`
	goodDefaultCR = `
apiVersion: example.com/v1
kind: Widget
metadata:
  name: default
`
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: "a:v1", env: [{name: A, value: x}]}]}
`
	configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`
)

// files maps paths in a module's folder to their content.
type files map[string]string

func good() files {
	return files{
		"module-config.yaml": goodConfig,
		"manifest.yaml":      goodDefinition,
		"default-cr.yaml":    goodDefaultCR,
	}
}

func (f files) with(path, content string) files {
	f[path] = content
	return f
}

func (f files) without(path string) files {
	delete(f, path)
	return f
}

func (f files) write(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for path, content := range f {
		full := filepath.Join(folder, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	return folder
}

// check returns the findings as lines, with paths relative to the folder.
func check(t *testing.T, f files) (lines []string, err error) {
	t.Helper()
	folder := f.write(t)
	_, report := lint.Check(folder, lint.Options{KubeVersion: "v1.36.1"})
	for _, finding := range report.Findings {
		lines = append(lines, strings.ReplaceAll(finding.String(), folder+"/", ""))
	}
	return lines, report.Err()
}

func TestAGoodModuleHasNoFindings(t *testing.T) {
	lines, err := check(t, good())
	require.NoError(t, err)
	require.Empty(t, lines)
}

// Webhooks scaffolded by kubebuilder have no port, for example.
func TestFieldsWithServerDefaultsMayBeMissing(t *testing.T) {
	conversion := "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b, path: /convert}}}}\n"
	f := good()
	lines, err := check(t, f.with("manifest.yaml", f["manifest.yaml"]+conversion+`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b}}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.org}
spec: {group: example.org, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: a, namespace: b}}
---
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {ports: [{port: 443}]}
`))
	require.NoError(t, err, lines)
	require.Empty(t, lines)
}

func TestManifestsThatInstallHaveNoErrors(t *testing.T) {
	f := good()
	f = f.with("manifest.yaml", "\ufeff"+f["manifest.yaml"]+"---apiVersion: v1\nkind: ConfigMap\nmetadata: {name: glued}\n---\n"+
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}]\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: named, generateName: a-}\n")
	lines, err := check(t, f)
	require.NoError(t, err, lines)
	require.Empty(t, lines)
	_, report := lint.Check(f.write(t), lint.Options{KubeVersion: "v1.36.1"})
	require.Equal(t, 5, report.Objects)
}

func TestNullsInMetadataAreNoFindings(t *testing.T) {
	f := good()
	lines, err := check(t, f.with("manifest.yaml", f["manifest.yaml"]+"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: nulls, namespace: null, labels: null, annotations: null}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: empty, labels: {x: null}}\n"))
	require.NoError(t, err)
	require.Empty(t, lines)
}

func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		files files
		want  string
	}{
		"no configuration": {
			good().without("module-config.yaml"),
			"no such file or directory",
		},
		"a definition of Lifecycle Manager": {
			good().with("manifest.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: kymas.operator.kyma-project.io}\n"),
			"error: manifest.yaml: document 1 (CustomResourceDefinition kymas.operator.kyma-project.io): must not be part of a module: this CustomResourceDefinition belongs to Lifecycle Manager",
		},
		"a Kyma": {
			good().with("manifest.yaml", "apiVersion: operator.kyma-project.io/v1beta2\nkind: Kyma\nmetadata: {name: default, namespace: kyma-system}\n"),
			"objects of this kind belong to Lifecycle Manager",
		},
		"a Kyma as default custom resource": {
			good().with("default-cr.yaml", "apiVersion: operator.kyma-project.io/v1beta2\nkind: Kyma\nmetadata: {name: default}\n"),
			"error: default-cr.yaml: document 1 (Kyma default): must not be part of a module",
		},
		"a namespace with our labels": {
			good().with("manifest.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: kyma-system, labels: {istio-injection: disabled}}\n"),
			"only Lifecycle Manager sets label istio-injection of this namespace",
		},
		"an unknown field in the configuration": {
			good().with("module-config.yaml", goodConfig+"chanels: [fast]\n"),
			`module-config.yaml: unknown field "chanels"`,
		},
		"a field of the configuration in the wrong case": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "defaultCR", "defaultCr", 1)),
			`module-config.yaml: unknown field "defaultCr"`,
		},
		"a duplicate field of the configuration": {
			good().with("module-config.yaml", goodConfig+"version: 2.0.0\n"),
			`key "version" already set in map`,
		},
		"a component name without a path": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "kyma-project.io/module/widget", "widget", 1)),
			`error: module-config.yaml: name: "widget" is not a component name`,
		},
		"a module name with a digit": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "moduleName: widget", "moduleName: widget2", 1)),
			`error: module-config.yaml: moduleName: "widget2" is not a module name`,
		},
		"a module name with a short word": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "moduleName: widget", "moduleName: my-widget", 1)),
			`error: module-config.yaml: moduleName: "my-widget" is not a module name`,
		},
		"a version with a leading v": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "1.0.0", "v1.0.0", 1)),
			`error: module-config.yaml: version: "v1.0.0" is not a semantic version`,
		},
		"a version with build metadata": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "1.0.0", "1.0.0+abc", 1)),
			`error: module-config.yaml: version: "1.0.0+abc" has build metadata`,
		},
		"a version of 33 characters": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "1.0.0", "1.0.0-abcdefghijklmnopqrstuvwxyz0", 1)),
			`has 33 characters; at most 32 are allowed`,
		},
		"the reserved channel": {
			good().with("module-config.yaml", goodConfig+"channels: [fast, none]\n"),
			`error: module-config.yaml: channels[1]: channel "none": the name "none" is reserved`,
		},
		"a channel with an invalid version": {
			good().with("module-config.yaml", goodConfig+"channels: [fast=latest]\n"),
			`error: module-config.yaml: channels[0]: channel "fast=latest": "latest" is not a semantic version`,
		},
		"channels of a mandatory module": {
			good().with("module-config.yaml", goodConfig+"channels: [fast]\nmandatory: true\n"),
			`error: module-config.yaml: channels: a mandatory module has no channels`,
		},
		"neither manifest nor chart": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "manifest: manifest.yaml\n", "", 1)),
			`error: module-config.yaml: manifest: is missing: set either manifest or chart`,
		},
		"manifest and chart": {
			good().with("module-config.yaml", goodConfig+"chart: chart\n"),
			`error: module-config.yaml: chart: excludes manifest`,
		},
		"values without a chart": {
			good().with("module-config.yaml", goodConfig+"values: manifest.yaml\n"),
			`error: module-config.yaml: values: need a chart`,
		},
		"an unknown target": {
			good().with("module-config.yaml", goodConfig+"target: moon\n"),
			`error: module-config.yaml: target: "moon" is neither "control-plane" nor "remote"`,
		},
		"an invalid priority": {
			good().with("module-config.yaml", goodConfig+"annotations: {operator.kyma-project.io/priority: urgent}\n"),
			`error: module-config.yaml: annotations[operator.kyma-project.io/priority]: "urgent" is not a priority: use hot-fix or regular`,
		},
		"an invalid link": {
			good().with("module-config.yaml", goodConfig+"resources: [{name: notes, link: notes.md}]\n"),
			`error: module-config.yaml: resources[0].link: "notes.md" is not a URL`,
		},
		"a duplicate resource": {
			good().with("module-config.yaml", goodConfig+"resources: [{name: a, link: 'https://a'}, {name: a, link: 'https://b'}]\n"),
			`error: module-config.yaml: resources[1].name: "a" occurs twice`,
		},
		"a state that no check can map to": {
			good().with("module-config.yaml", goodConfig+"customStateChecks: [{jsonPath: status.ok, value: 'yes', mappedState: Fine}]\n"),
			`error: module-config.yaml: customStateChecks[0].mappedState: "Fine" is none of`,
		},
		"an invalid JSONPath": {
			good().with("module-config.yaml", goodConfig+"customStateChecks: [{jsonPath: 'status.nodes[', value: 'yes', mappedState: Ready}]\n"),
			`error: module-config.yaml: customStateChecks[0].jsonPath: "status.nodes[" is not a JSONPath`,
		},
		"a manager outside of the module": {
			good().with("module-config.yaml", goodConfig+"manager: {group: apps, version: v1, kind: Deployment, name: widget}\n"),
			`error: module-config.yaml: manager: Deployment.apps widget is not among the module's objects`,
		},
		"a missing manifest": {
			good().without("manifest.yaml"),
			`manifest.yaml: no such file or directory`,
		},
		"an empty manifest": {
			good().with("manifest.yaml", "# nothing\n---\n").with("module-config.yaml", strings.Replace(goodConfig, "defaultCR: default-cr.yaml\n", "", 1)),
			`error: module-config.yaml: the module has no objects`,
		},
		"a document that is not YAML": {
			good().with("manifest.yaml", goodDefinition+"---\na: [1\n"),
			`error: manifest.yaml: document 2: is not YAML`,
		},
		"a document that is not an object": {
			good().with("manifest.yaml", goodDefinition+"---\n[1, 2]\n"),
			`error: manifest.yaml: document 2: is not a Kubernetes object`,
		},
		"a duplicate key": {
			good().with("manifest.yaml", goodDefinition+"---"+configMap+"data: {a: one}\ndata: {a: two}\n"),
			`warning: manifest.yaml: document 2: duplicate key, the last one counts`,
		},
		"an object with helm.sh/resource-policy": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/resource-policy: keep}}\n"),
			`warning: manifest.yaml: document 2 (ConfigMap a): has helm.sh/resource-policy: keep, so it stays in the cluster`,
		},
		"an object without a kind": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nmetadata: {name: a}\n"),
			`error: manifest.yaml: document 2 ( a): has no apiVersion or no kind`,
		},
		"an object without a name": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: ConfigMap\n"),
			`error: manifest.yaml: document 2 (ConfigMap ): has no metadata.name`,
		},
		"an object with a generated name": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"),
			`error: manifest.yaml: document 2 (ConfigMap ): has generateName but no name`,
		},
		"a list within a list": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]\n"),
			`error: manifest.yaml: item 1 of document 2 (List ): is a list within a list`,
		},
		"an object in a list that an API server refuses": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {}}]\n"),
			`error: manifest.yaml: item 1 of document 2 (ConfigMap a): unknown field "dat"`,
		},
		"labels that are not strings, of an unknown kind": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a, labels: {x: 1}}\n"),
			`(Thing a): metadata.labels is not a map of strings`,
		},
		"a duplicate object": {
			good().with("manifest.yaml", goodDefinition+"---"+configMap+"---"+configMap),
			`error: manifest.yaml: document 3 (ConfigMap settings): occurs twice; the first is in manifest.yaml, document 2`,
		},
		"a duplicate object, once with the default namespace": {
			good().with("manifest.yaml", goodDefinition+"---"+configMap+"---"+strings.Replace(configMap, "settings}", "settings, namespace: kyma-system}", 1)),
			`occurs twice`,
		},
		"a cluster-scoped object in a namespace": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, namespace: b}\n"),
			`warning: manifest.yaml: document 2 (ClusterRole b/a): is cluster-scoped: its namespace is dropped`,
		},
		"a cluster-scoped object of the module's own kind in a namespace": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "Namespaced", "Cluster", 1)+"---"+strings.Replace(goodDefaultCR, "default", "a\n  namespace: b", 1)+"spec: {size: 1}\n").
				with("module-config.yaml", goodConfig+"clusterScoped: true\n"),
			`warning: manifest.yaml: document 2 (Widget b/a): is cluster-scoped: its namespace is dropped`,
		},
		"a cluster-scoped default custom resource in a namespace": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "Namespaced", "Cluster", 1)).
				with("module-config.yaml", goodConfig+"clusterScoped: true\n").with("default-cr.yaml", goodDefaultCR+"  namespace: b\n"),
			`warning: default-cr.yaml: document 1 (Widget b/default): is cluster-scoped: its namespace is dropped`,
		},
		"an object with an owner": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(configMap, "settings", "settings, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: x}]", 1)),
			`warning: manifest.yaml: document 2 (ConfigMap settings): has ownerReferences, which are dropped`,
		},
		"a default custom resource with an owner": {
			good().with("default-cr.yaml", goodDefaultCR+"  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: x}]\n"),
			`warning: default-cr.yaml: document 1 (Widget default): has ownerReferences, which are dropped`,
		},
		"an object of a foreign kind": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: other.com/v1\nkind: Thing\nmetadata: {name: a}\n"),
			`warning: manifest.yaml: document 2 (Thing a): Thing.other.com is neither built into Kubernetes nor defined by this module`,
		},
		"a misspelt field": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "replicas", "replica", 1)),
			`error: manifest.yaml: document 2 (Deployment operator): unknown field "spec.replica"`,
		},
		"a field in the wrong case": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "matchLabels", "matchlabels", 1)),
			`error: manifest.yaml: document 2 (Deployment operator): unknown field "spec.selector.matchlabels"`,
		},
		"a field of another type": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "replicas: 1", "replicas: one", 1)),
			`error: manifest.yaml: document 2 (Deployment operator): json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
		},
		"a duplicate environment variable": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "env: [", "env: [{name: A, value: z}, ", 1)),
			`warning: manifest.yaml: document 2 (Deployment operator): spec.template.spec.containers[0].env has A more than once: the last one counts`,
		},
		"a port with two names": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "env: [", "ports: [{containerPort: 80, name: a}, {containerPort: 80, name: b}], env: [", 1)),
			`duplicate entries for key [containerPort=80,protocol="TCP"]`,
		},
		"a version that is no longer served": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"),
			`error: manifest.yaml: document 2 (PodDisruptionBudget a): policy/v1beta1 is not served by Kubernetes 1.25 and later; use policy/v1 instead`,
		},
		"a version that never existed": {
			good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "apps/v1", "apps/v3", 1)),
			`error: manifest.yaml: document 2 (Deployment operator): Kubernetes has Deployment.apps in v1, v1beta1, v1beta2, not in v3`,
		},
		"a definition that an API server refuses": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "type: integer", "type: number, properties: {a: {}}", 1)),
			`error: manifest.yaml: document 1 (CustomResourceDefinition widgets.example.com): spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size]`,
		},
		"a definition with a name that does not fit its kind": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "widgets.example.com", "widget.example.com", 1)),
			`metadata.name: Invalid value: "widget.example.com": must be spec.names.plural+"."+spec.group`,
		},
		"a default custom resource with a misspelt field": {
			good().with("default-cr.yaml", goodDefaultCR+"spec: {size: 1, Mode: fast}\n"),
			`error: default-cr.yaml: document 1 (Widget default): unknown field "spec.Mode"`,
		},
		"a default custom resource that lacks a field": {
			good().with("default-cr.yaml", goodDefaultCR+"spec: {}\n"),
			`error: default-cr.yaml: document 1 (Widget default): spec.size: Required value`,
		},
		"a default custom resource with a value that is not allowed": {
			good().with("default-cr.yaml", goodDefaultCR+"spec: {size: 1, mode: slow}\n"),
			`spec.mode: Unsupported value: "slow": supported values: "fast", "safe"`,
		},
		"a default custom resource that breaks a rule": {
			good().with("default-cr.yaml", goodDefaultCR+"spec: {size: 10, mode: fast}\n"),
			`spec: Invalid value: a fast one is small`,
		},
		"a default custom resource with a duplicate item": {
			good().with("default-cr.yaml", goodDefaultCR+"spec: {size: 1, parts: [{name: a}, {name: a}]}\n"),
			`spec.parts[1]: Duplicate value: {"name":"a"}`,
		},
		"a custom resource among the objects that does not fit its definition": {
			good().with("manifest.yaml", goodDefinition+"---"+goodDefaultCR+"spec: {size: 0}\n"),
			`error: manifest.yaml: document 2 (Widget default): spec.size: Invalid value: 0`,
		},
		"an object above one mebibyte": {
			good().with("manifest.yaml", goodDefinition+"---"+configMap+"data: {a: "+strings.Repeat("x", 1<<20)+"}\n"),
			`error: manifest.yaml: document 2 (ConfigMap settings): has 1048661 bytes`,
		},
		"a folder for kustomize": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "manifest.yaml", "manifest", 1)).
				with("manifest/a.yaml", goodDefinition).with("manifest/kustomization.yaml", "resources: [a.yaml]\n"),
			"manifest/kustomization.yaml: kustomize input is not supported; ship the output of `kustomize build` as the manifest",
		},
		"a folder for kustomize further down": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "manifest.yaml", "manifest", 1)).
				with("manifest/a.yaml", goodDefinition).with("manifest/overlays/Kustomization", "resources: [a.yaml]\n"),
			"manifest/overlays/Kustomization: kustomize input is not supported",
		},
		"a document for kustomize": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"),
			"error: manifest.yaml: document 2 (Kustomization ): kustomize input is not supported",
		},
		"a folder without manifests": {
			good().with("module-config.yaml", strings.Replace(goodConfig, "manifest.yaml", "manifest", 1)).with("manifest/README.md", "x"),
			"no .yaml, .yml or .json file in manifest",
		},
		"a default custom resource without its definition": {
			good().with("manifest.yaml", configMap),
			`error: default-cr.yaml: document 1 (Widget default): the module has no CustomResourceDefinition for Widget.example.com`,
		},
		"a default custom resource in a version that is not served": {
			good().with("default-cr.yaml", strings.Replace(goodDefaultCR, "v1", "v1alpha1", 1)),
			`does not serve version v1alpha1`,
		},
		"a default custom resource without a kind": {
			good().with("default-cr.yaml", "apiVersion: example.com/v1\nmetadata: {name: default}\n"),
			`error: default-cr.yaml: document 1 ( default): has no apiVersion or no kind`,
		},
		"a default custom resource without a name": {
			good().with("default-cr.yaml", "apiVersion: example.com/v1\nkind: Widget\n"),
			`warning: default-cr.yaml: document 1 (Widget ): has no name`,
		},
		"a default custom resource with a status": {
			good().with("default-cr.yaml", goodDefaultCR+"status: {state: Ready}\n"),
			`warning: default-cr.yaml: document 1 (Widget default): has a status, which is dropped`,
		},
		"two default custom resources": {
			good().with("default-cr.yaml", goodDefaultCR+"---"+goodDefaultCR),
			`error: default-cr.yaml: has 2 objects`,
		},
		"an invalid replace annotation": {
			good().with("manifest.yaml", goodDefinition+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {operator.kyma-project.io/replace: \"yes\"}}\n"),
			`warning: manifest.yaml: document 2 (ConfigMap a): the annotation operator.kyma-project.io/replace: "yes" is ignored: use "true" or "with-data"`,
		},
		"a replace annotation on a definition": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "  name: widgets.example.com\n", "  name: widgets.example.com\n  annotations: {operator.kyma-project.io/replace: with-data}\n", 1)),
			`warning: manifest.yaml: document 1 (CustomResourceDefinition widgets.example.com): the annotation operator.kyma-project.io/replace is ignored: Lifecycle Manager never replaces a CustomResourceDefinition`,
		},
		"clusterScoped for a namespaced default custom resource": {
			good().with("module-config.yaml", goodConfig+"clusterScoped: true\n"),
			`error: module-config.yaml: clusterScoped: Widget.example.com is namespaced`,
		},
		"a cluster-scoped default custom resource without clusterScoped": {
			good().with("manifest.yaml", strings.Replace(goodDefinition, "Namespaced", "Cluster", 1)),
			`error: module-config.yaml: clusterScoped: must be true`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := check(t, test.files)
			require.Contains(t, strings.Join(lines, "\n"), test.want)
			if strings.HasPrefix(test.want, "warning") {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, lint.ErrFindings)
		})
	}
}

func TestKindsOfACurrentKubernetesAreKnown(t *testing.T) {
	lines, err := check(t, good().with("manifest.yaml", goodDefinition+"---"+deployment+`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: operator}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: operator}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: policy}
spec: {validations: [{expression: "true"}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100}
`))
	require.NoError(t, err, lines)
	require.Empty(t, lines)
}

func TestNullFieldCountsAsMissing(t *testing.T) {
	lines, err := check(t, good().with("manifest.yaml", goodDefinition+"---"+strings.Replace(deployment, "{name: operator}", "{name: operator, annotations: , creationTimestamp: null}", 1)))
	require.NoError(t, err, lines)
}

func TestKubeVersionDecidesServedVersions(t *testing.T) {
	folder := good().with("manifest.yaml", goodDefinition+"---\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n").write(t)
	_, report := lint.Check(folder, lint.Options{KubeVersion: "v1.24.0"})
	require.NoError(t, report.Err(), report.Findings)
	_, report = lint.Check(folder, lint.Options{KubeVersion: "next"})
	require.ErrorIs(t, report.Err(), lint.ErrFindings)
}

func TestOptionalObjectOfAForeignKindHasNoWarning(t *testing.T) {
	lines, err := check(t, good().with("manifest.yaml", goodDefinition+`---
apiVersion: other.com/v1
kind: Thing
metadata:
  name: a
  annotations: {operator.kyma-project.io/optional: "true", operator.kyma-project.io/replace: with-data}
`))
	require.NoError(t, err)
	require.Empty(t, lines)
}
