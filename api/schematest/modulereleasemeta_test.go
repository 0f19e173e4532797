package schematest

import (
	"strings"
	"testing"
)

func TestModuleReleaseMetaSpec(t *testing.T) {
	channels := "channels: [{channel: regular, version: 1.2.3}, {channel: fast, version: 1.3.0-rc.1}]"
	spec := func(line string) string { return "spec: {moduleName: keda, " + line + "}" }
	component := func(name string) string { return spec(channels + ", ocmComponentName: '" + name + "'") }
	channel := func(name string) string { return spec("channels: [{channel: " + name + ", version: 1.2.3}]") }
	version := func(text string) string { return spec("channels: [{channel: fast, version: " + text + "}]") }

	requireVerdicts(t, "ModuleReleaseMeta", []verdict{
		{"no spec", "{}", "spec: Required value"},
		{"channels", spec(channels), ""},
		{"mandatory", spec("mandatory: {version: 1.2.3}"), ""},
		{"mandatory and no channels", spec("mandatory: {version: 1.2.3}, channels: []"), ""},
		{"neither mandatory nor channels", "spec: {moduleName: keda}", "exactly one of 'mandatory' or 'channels' must be specified"},
		{"no channels in the list", spec("channels: []"), "exactly one of 'mandatory' or 'channels' must be specified"},
		{
			"mandatory and channels", spec("mandatory: {version: 1.2.3}, " + channels),
			"exactly one of 'mandatory' or 'channels' must be specified",
		},
		{"the same channel twice", spec("channels: [{channel: fast, version: 1.2.3}, {channel: fast, version: 1.2.4}]"), "Duplicate value"},

		{"no module name", "spec: {" + channels + "}", "spec.moduleName: Required value"},
		{"an empty module name", "spec: {moduleName: '', " + channels + "}", "spec.moduleName"},
		{"a module name with digits", "spec: {moduleName: keda2, " + channels + "}", "spec.moduleName"},
		{"a module name of 65 letters", "spec: {moduleName: " + strings.Repeat("a", 65) + ", " + channels + "}", "spec.moduleName"},

		{"a component name", component("kyma-project.io/module/keda"), ""},
		{"no component name", component(""), ""},
		{"a component name without a path", component("kyma-project.io"), "spec.ocmComponentName"},
		{"a component name without a domain", component("module/keda"), "spec.ocmComponentName"},
		{"a component name with capitals", component("kyma-project.io/module/Keda"), "spec.ocmComponentName"},
		{"a component name of 255 characters", component("kyma-project.io/" + strings.Repeat("a", 239)), ""},
		{"a component name of 256 characters", component("kyma-project.io/" + strings.Repeat("a", 240)), "spec.ocmComponentName"},

		{"a channel of 2 letters", channel("ab"), "spec.channels[0].channel"},
		{"a channel with capitals", channel("Fast"), "spec.channels[0].channel"},
		{"a channel of 33 letters", channel(strings.Repeat("a", 33)), "spec.channels[0].channel"},
		{"the reserved channel", channel("none"), "the channel name 'none' is reserved"},
		{"a channel without a version", spec("channels: [{channel: fast}]"), "spec.channels[0].version: Required value"},
		{"an empty version", version("''"), "spec.channels[0].version"},
		{"a version with build metadata", version("1.2.3+abc"), "spec.channels[0].version"},
		{"a version with a v", version("v1.2.3"), "spec.channels[0].version"},
		{"a version of 33 characters", version("1.2.3-" + strings.Repeat("a", 27)), "spec.channels[0].version"},
		{"a mandatory version with build metadata", spec("mandatory: {version: 1.0.0+build.1}"), ""},
		{"a mandatory version with empty build metadata", spec("mandatory: {version: 1.2.3+}"), "spec.mandatory.version"},
		{"a mandatory version of 129 characters", spec("mandatory: {version: 1.2.3+" + strings.Repeat("a", 123) + "}"), "spec.mandatory.version"},
		{"mandatory without a version", spec("mandatory: {}"), "spec.mandatory.version: Required value"},

		{"beta, internal and a selector", spec(channels + ", beta: true, internal: true, kymaSelector: {matchLabels: {team: a}}"), ""},
		{
			"a selector with expressions",
			spec(channels + ", kymaSelector: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}"), "",
		},
		{
			"a selector without an operator",
			spec(channels + ", kymaSelector: {matchExpressions: [{key: team}]}"), "operator: Required value",
		},
	})
}
