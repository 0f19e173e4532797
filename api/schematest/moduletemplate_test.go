package schematest

import (
	"strings"
	"testing"
)

func TestModuleTemplateSpec(t *testing.T) {
	spec := func(line string) string { return "spec: {" + line + "}" }
	requireVerdicts(t, "ModuleTemplate", []verdict{
		{"a template as the seed documents show it", seedTemplate, ""},
		{"a template of today's generation", todaysTemplate, ""},
		{"a template without a spec", "{}", "spec: Required value"},

		{"no channel", spec("channel: ''"), ""},
		{"a channel", spec("channel: fast"), ""},
		{"the channel that means none", spec("channel: none"), ""},
		{"a channel of 2 letters", spec("channel: ab"), "spec.channel"},
		{"a channel of 33 letters", spec("channel: " + strings.Repeat("a", 33)), "spec.channel"},
		{"a channel with digits", spec("channel: fast2"), "spec.channel"},

		{"a version", spec("version: 1.2.3"), ""},
		{"no version", spec("version: ''"), ""},
		{"a pre-release", spec("version: 1.2.3-rc.1"), ""},
		{"a version with build metadata", spec("version: 1.2.3+abc"), "spec.version"},
		{"a version of 33 characters", spec("version: 1.2.3-" + strings.Repeat("a", 27)), "spec.version"},

		{"a module name", spec("moduleName: btp-operator"), ""},
		{"no module name", spec("moduleName: ''"), ""},
		{"a module name with a part of 2 letters", spec("moduleName: my-operator"), "spec.moduleName"},
		{"a module name with capitals", spec("moduleName: Keda"), "spec.moduleName"},
		{"a module name of 65 letters", spec("moduleName: " + strings.Repeat("a", 65)), "spec.moduleName"},

		{"target control-plane", spec("target: control-plane"), ""},
		{"target remote", spec("target: remote"), ""},
		{"an unknown target", spec("target: elsewhere"), "spec.target: Unsupported value"},

		{"no data", spec("data: null"), ""},
		{"empty data", spec("data: {}"), ""},
		{"data that is no object", spec("data: [a]"), "spec.data"},
		{"an empty descriptor", spec("descriptor: {}"), ""},
		{"a descriptor that is no object", spec("descriptor: text"), "spec.descriptor"},

		{"a state check", spec("customStateCheck: [{jsonPath: status.health, value: green, mappedState: Ready}]"), ""},
		{
			"a state check to an unknown state",
			spec("customStateCheck: [{jsonPath: status.health, value: green, mappedState: Good}]"),
			"spec.customStateCheck[0].mappedState: Unsupported value",
		},
		{
			"a state check to no state",
			spec("customStateCheck: [{jsonPath: status.health, value: green, mappedState: ''}]"),
			"mappedState must be Ready, Processing, Warning, Error or Deleting",
		},
		{
			"a state check to Unmanaged",
			spec("customStateCheck: [{jsonPath: status.health, value: green, mappedState: Unmanaged}]"),
			"mappedState must be Ready, Processing, Warning, Error or Deleting",
		},
		{
			"a state check without a value",
			spec("customStateCheck: [{jsonPath: status.health, mappedState: Ready}]"),
			"spec.customStateCheck[0].value: Required value",
		},
		{
			"a state check without a path",
			spec("customStateCheck: [{jsonPath: '', value: green, mappedState: Ready}]"), "spec.customStateCheck[0].jsonPath",
		},

		{"a link", spec("resources: [{name: raw, link: 'https://example.com/raw.yaml'}]"), ""},
		{"a link that is none", spec("resources: [{name: raw, link: raw.yaml}]"), "spec.resources[0].link"},
		{
			"two links of one name",
			spec("resources: [{name: raw, link: 'https://example.com/a'}, {name: raw, link: 'https://example.com/b'}]"),
			"Duplicate value",
		},
		{
			"info", spec("info: {repository: 'https://example.com/r', documentation: 'https://example.com/d', " +
				"icons: [{name: logo, link: 'https://example.com/i.svg'}]}"), "",
		},
		{"a repository that is no address", spec("info: {repository: here}"), "spec.info.repository"},
		{"documentation that is no address", spec("info: {documentation: there}"), "spec.info.documentation"},
		{"an icon that is no address", spec("info: {icons: [{name: a, link: b}]}"), "spec.info.icons[0].link"},
		{
			"two icons of one name",
			spec("info: {icons: [{name: a, link: 'https://example.com/a'}, {name: a, link: 'https://example.com/b'}]}"),
			"Duplicate value",
		},

		{"a manager", spec("manager: {group: apps, version: v1, kind: Deployment, name: keda-manager}"), ""},
		{
			"a manager with a namespace",
			spec("manager: {group: apps, version: v1, kind: Deployment, namespace: keda, name: keda-manager}"), "",
		},
		{
			"a manager without a name",
			spec("manager: {group: apps, version: v1, kind: Deployment}"), "spec.manager.name: Required value",
		},
		{"a manager without a kind", spec("manager: {group: apps, version: v1, name: a}"), "spec.manager.kind: Required value"},
		{"associated resources", spec("associatedResources: [{group: keda.sh, version: v1, kind: ScaledObject}]"), ""},
		{
			"an associated resource without a version",
			spec("associatedResources: [{group: keda.sh, kind: ScaledObject}]"),
			"spec.associatedResources[0].version: Required value",
		},
		{"mandatory, with downtime", spec("mandatory: true, requiresDowntime: true"), ""},
	})
}

const seedTemplate = `
metadata:
  name: moduletemplate-sample
  namespace: default
  labels:
    operator.kyma-project.io/module-name: module-name-from-label
spec:
  channel: regular
  target: control-plane
  data: {}
  descriptor:
    component:
      name: kyma-project.io/module/sample
`

const todaysTemplate = `
metadata:
  name: keda-1.2.3
  namespace: kcp-system
  annotations:
    operator.kyma-project.io/is-cluster-scoped: "false"
spec:
  moduleName: keda
  version: 1.2.3
  mandatory: false
  requiresDowntime: true
  info:
    repository: https://github.com/kyma-project/keda-manager.git
    documentation: https://help.example.com/keda
  manager: {group: apps, version: v1, kind: Deployment, namespace: kyma-system, name: keda-manager}
  associatedResources:
  - {group: keda.sh, version: v1alpha1, kind: ScaledObject}
  resources:
  - {name: rawManifest, link: "https://github.com/kyma-project/keda-manager/releases/download/1.2.3/keda.yaml"}
  data:
    apiVersion: operator.kyma-project.io/v1alpha1
    kind: Keda
    metadata: {name: default, namespace: kyma-system}
    spec: {resources: {operator: {limits: {cpu: 800m}}}}
  descriptor:
    component:
      name: kyma-project.io/module/keda
      version: 1.2.3
      provider: {name: kyma-project.io}
      resources:
      - access:
          digest: sha256:f4a599c4310b0fe9133b67b72d9b15ee96b52a1872132528c83978239b5effef
          type: localOciBlob
        name: config
        relation: local
        type: yaml
        version: 0.0.1-6cd5086
    meta: {schemaVersion: v2}
`
