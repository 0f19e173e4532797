package schematest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKymaSpec(t *testing.T) {
	module := func(line string) string { return "spec: {modules: [{name: keda, " + line + "}]}" }
	requireVerdicts(t, "Kyma", []verdict{
		{"a Kyma without a spec", "{}", ""},
		{"an empty spec", "spec: {}", ""},

		{"a channel", "spec: {channel: fast}", ""},
		{"a channel of 3 letters", "spec: {channel: abc}", ""},
		{"a channel of 32 letters", "spec: {channel: " + strings.Repeat("a", 32) + "}", ""},
		{"an empty channel, which means the default", "spec: {channel: ''}", ""},
		{"a channel of 2 letters", "spec: {channel: ab}", "spec.channel"},
		{"a channel of 33 letters", "spec: {channel: " + strings.Repeat("a", 33) + "}", "spec.channel"},
		{"a channel with capitals", "spec: {channel: Fast}", "spec.channel"},
		{"a channel with digits", "spec: {channel: fast2}", "spec.channel"},
		{"the reserved channel", "spec: {channel: none}", "the channel name 'none' is reserved"},

		{"skipMaintenanceWindows", "spec: {skipMaintenanceWindows: true}", ""},
		{"skipMaintenanceWindows that is no boolean", "spec: {skipMaintenanceWindows: soon}", "spec.skipMaintenanceWindows"},

		{"a module by module name", "spec: {modules: [{name: btp-operator}]}", ""},
		{"a module by label", "spec: {modules: [{name: module-name-from-label}]}", ""},
		{"a module by namespace and name", "spec: {modules: [{name: default/moduletemplate-sample}]}", ""},
		{"a module by component name", "spec: {modules: [{name: kyma-project.io/module/sample}]}", ""},
		{"a module without a name", "spec: {modules: [{channel: fast}]}", "spec.modules[0].name: Required value"},
		{"a module with an empty name", "spec: {modules: [{name: ''}]}", "spec.modules[0].name"},
		{"a module name with a space", "spec: {modules: [{name: 'a b'}]}", "spec.modules[0].name"},
		{"a module name that ends in a slash", "spec: {modules: [{name: default/}]}", "spec.modules[0].name"},
		{"a module name of 255 characters", "spec: {modules: [{name: " + strings.Repeat("a", 255) + "}]}", ""},
		{"a module name of 256 characters", "spec: {modules: [{name: " + strings.Repeat("a", 256) + "}]}", "spec.modules[0].name"},
		{"two modules", "spec: {modules: [{name: keda}, {name: serverless}]}", ""},
		{"the same module twice", "spec: {modules: [{name: keda}, {name: keda, channel: fast}]}", "Duplicate value"},

		{"a module's channel", module("channel: fast"), ""},
		{"a module's empty channel", module("channel: ''"), ""},
		{"a module's channel that is too short", module("channel: ab"), "spec.modules[0].channel"},
		{"a module's channel with a dash", module("channel: fast-one"), "spec.modules[0].channel"},
		{"a module's reserved channel", module("channel: none"), "the channel name 'none' is reserved"},

		{"a pinned version", module("version: 1.2.3"), ""},
		{"a pinned pre-release", module("version: 1.2.3-rc.1"), ""},
		{"a pinned version with build metadata", module("version: 1.2.3+abc"), "spec.modules[0].version"},
		{"a pinned version with a v", module("version: v1.2.3"), "spec.modules[0].version"},
		{"a pinned version of two parts", module("version: '1.2'"), "spec.modules[0].version"},
		{"a pinned version with a leading zero", module("version: 1.02.3"), "spec.modules[0].version"},
		{"a pinned version of 33 characters", module("version: 1.2.3-" + strings.Repeat("a", 27)), "spec.modules[0].version"},
		{"channel and version", module("channel: fast, version: 1.2.3"), "channel and version exclude each other"},
		{"version with an empty channel", module("channel: '', version: 1.2.3"), ""},
		{"channel with an empty version", module("channel: fast, version: ''"), ""},

		{"controller", module("controller: team-a"), ""},
		{"a controller that no label can have", module("controller: " + strings.Repeat("a", 64)), "spec.modules[0].controller"},
		{"policy CreateAndDelete", module("customResourcePolicy: CreateAndDelete"), ""},
		{"policy Ignore", module("customResourcePolicy: Ignore"), ""},
		{"an unknown policy", module("customResourcePolicy: Delete"), "spec.modules[0].customResourcePolicy: Unsupported value"},
		{"remoteModuleTemplateRef", module("remoteModuleTemplateRef: default/mine"), ""},
		{"managed set to false", module("managed: false"), ""},
		{"managed that is no boolean", module("managed: perhaps"), "spec.modules[0].managed"},

		{"sync without any field", "spec: {sync: {}}", ""},
		{
			"sync with all fields",
			"spec: {sync: {enabled: true, strategy: local-secret, namespace: sync, noModuleCopy: false, moduleCatalog: false}}", "",
		},
		{"strategy secret", "spec: {sync: {strategy: secret}}", ""},
		{"strategy local-client", "spec: {sync: {strategy: local-client}}", ""},
		{"an unknown strategy", "spec: {sync: {strategy: remote}}", "spec.sync.strategy: Unsupported value"},
		{"a sync namespace with capitals", "spec: {sync: {namespace: Sync}}", "spec.sync.namespace"},
		{"a sync namespace of 64 characters", "spec: {sync: {namespace: " + strings.Repeat("a", 64) + "}}", "spec.sync.namespace"},

		{"a name of 63 characters", "metadata: {name: " + strings.Repeat("a", 63) + ", namespace: kcp-system}", ""},
		{
			"a name that cannot be a label value",
			"metadata: {name: " + strings.Repeat("a", 64) + ", namespace: kcp-system}", "at most 63 characters",
		},
	})
}

func TestKymaStatus(t *testing.T) {
	requireVerdicts(t, "Kyma", append(stateVerdicts(), []verdict{
		{"a status as of today's generation, and ours", kymaStatus, ""},
		{
			"a remote Kyma without its generation",
			"status: {remote: {name: default, namespace: kyma-system}}", "status.remote.generation: Required value",
		},
		{
			"an unknown generation of the remote Kyma",
			"status: {remote: {name: default, namespace: kyma-system, generation: Seed}}",
			"status.remote.generation: Unsupported value",
		},
		{
			"generation Explicit",
			"status: {remote: {name: default, namespace: kyma-system, generation: Explicit}}", "",
		},
		{
			"a remote module with channel and version", remoteModule("name: keda, channel: fast, version: 1.2.3"),
			"channel and version exclude each other",
		},
		{"a remote module in the reserved channel", remoteModule("name: keda, channel: none"), "the channel name 'none' is reserved"},
		{"a remote module without a name", remoteModule("channel: fast"), "status.remote.modules[0].name: Required value"},
		{"a last operation without words", "status: {lastOperation: {}}", "status.lastOperation.operation: Required value"},
		{
			"a state of a module that is unknown",
			"status: {modules: [{name: keda, state: Broken}]}", "status.modules[0].state: Unsupported value",
		},
		{"a module without a name", "status: {modules: [{state: Ready}]}", "status.modules[0].name: Required value"},
		{
			"two conditions of one type",
			`status: {conditions: [` + condition("Modules") + `, ` + condition("Modules") + `]}`, "Duplicate value",
		},
	}...))
}

func TestKymaDefaults(t *testing.T) {
	for _, version := range servedVersions(t)["Kyma"] {
		t.Run(version.version, func(t *testing.T) {
			bare := version.admit(t, version.object(t, "{}"))
			require.Equal(t, map[string]any{"channel": "regular"}, bare.object["spec"])

			got := version.admit(t, version.object(t, "spec: {modules: [{name: keda}], sync: {}}"))
			require.Equal(t, map[string]any{
				"channel": "regular",
				"modules": []any{map[string]any{
					"name": "keda", "customResourcePolicy": "CreateAndDelete", "managed": true,
				}},
				"sync": map[string]any{"strategy": "local-secret"},
			}, got.object["spec"], "the booleans of sync must stay unset")
		})
	}
}

// A rule that is cheap for one module must be so for as many as the schema
// allows.
func TestKymaWithAsManyModulesAsAllowedStaysWithinTheRuleBudget(t *testing.T) {
	modules := func(count int) string {
		lines := []string{"spec:", "  modules:"}
		for i := range count {
			lines = append(lines, fmt.Sprintf("  - {name: %s-%d, version: 1.2.3-%s}",
				strings.Repeat("a", 250), i, strings.Repeat("b", 26)))
		}
		return strings.Join(lines, "\n")
	}
	requireVerdicts(t, "Kyma", []verdict{
		{"256 modules", modules(256), ""},
		{"257 modules", modules(257), "must have at most 256 items"},
	})
}

// stateVerdicts checks the states that every status with a state shares.
func stateVerdicts() []verdict {
	verdicts := []verdict{
		{"an unknown state", "status: {state: Broken}", "status.state: Unsupported value"},
		{"a state in lower case", "status: {state: ready}", "status.state: Unsupported value"},
	}
	for _, state := range []string{"Processing", "Deleting", "Ready", "Error", "''", "Warning", "Unmanaged"} {
		verdicts = append(verdicts, verdict{"state " + state, "status: {state: " + state + "}", ""})
	}
	return verdicts
}

func remoteModule(fields string) string {
	return "status: {remote: {name: default, namespace: kyma-system, generation: Default, modules: [{" + fields + "}]}}"
}

func condition(conditionType string) string {
	return `{type: ` + conditionType + `, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-11-20T23:42:00Z"}`
}

const kymaStatus = `
spec: {channel: alpha, modules: [{name: btp-operator}]}
status:
  state: Processing
  lastOperation: {operation: waiting for all modules to become ready, lastUpdateTime: "2026-11-20T23:42:00Z"}
  conditions:
  - type: Modules
    status: "False"
    reason: Ready
    message: not all modules are in ready state
    lastTransitionTime: "2026-11-20T23:42:00Z"
  activeChannel: alpha
  modules:
  - channel: alpha
    fqdn: kyma.project.io/module/btp-operator
    ocmComponentName: kyma.project.io/module/btp-operator
    manifest:
      apiVersion: operator.kyma-project.io/v1beta1
      kind: Manifest
      metadata:
        generation: 1
        name: 24bd3cbf-454a-4075-baa6-113a23fdfcd0-btp-operator-4128321918
        namespace: kcp-system
    resource:
      apiVersion: operator.kyma-project.io/v1alpha1
      kind: BtpOperator
      metadata: {generation: 1, name: btpoperator, namespace: kyma-system}
    template:
      apiVersion: operator.kyma-project.io/v1beta1
      kind: ModuleTemplate
      metadata: {generation: 2, name: moduletemplate-btp-operator, namespace: kcp-system}
    name: btp-operator
    state: Processing
    message: one of three objects is not ready
    maintenance: true
    version: v0.2.3
  observedGeneration: 3
  inputsDigest: sha256:8f926a08ca246707beb9c902e6df7e8c3e89d2e75ff4732f8f00c424ba8456bf
  modulesReady: 0/1
  remote:
    name: default
    namespace: kyma-system
    generation: Default
    cluster: 7d3b53b1-5a3f-4f0b-9d2b-8d5f7d1f0c55
    observedGeneration: 4
    uid: 5c1a1f60-2f86-4c34-9e0d-1b1f5f8f3f11
    channel: alpha
    modules: [{name: btp-operator, customResourcePolicy: CreateAndDelete, managed: true}]
    reachable: false
    unreachableReason: connection refused
    unreachableSince: "2026-11-20T23:42:00Z"
`
