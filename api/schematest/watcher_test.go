package schematest

import "testing"

func TestWatcherSpec(t *testing.T) {
	fields := map[string]string{
		"serviceInfo":     "{name: listener, port: 8082, namespace: kcp-system}",
		"resourceToWatch": "{group: operator.kyma-project.io, version: '*', resource: kymas}",
		"field":           "spec",
		"gateway":         "{selector: {matchLabels: {app: gateway}}}",
	}
	// with gives a field another value, or takes it away where that is empty.
	with := func(name, value string) string {
		text := "spec:"
		for field, usual := range fields {
			if field != name {
				text += "\n  " + field + ": " + usual
			}
		}
		if value != "" {
			text += "\n  " + name + ": " + value
		}
		return text
	}
	requireVerdicts(t, "Watcher", []verdict{
		{"the least", with("manager", ""), ""},
		{"no spec", "{}", "spec: Required value"},
		{"all fields", with("manager", "lifecycle-manager\n  labelsToWatch: {operator.kyma-project.io/watched-by: kyma}"), ""},

		{"field status", with("field", "status"), ""},
		{"an unknown field", with("field", "metadata"), "spec.field: Unsupported value"},
		{"no field", with("field", ""), "spec.field: Required value"},

		{"a manager that fits no path", with("manager", "a/b"), "spec.manager"},
		{"an empty manager", with("manager", "''"), ""},

		{"no service", with("serviceInfo", ""), "spec.serviceInfo: Required value"},
		{"a service without a port", with("serviceInfo", "{name: a, namespace: b}"), "spec.serviceInfo.port: Required value"},
		{"port 0", with("serviceInfo", "{name: a, port: 0, namespace: b}"), "spec.serviceInfo.port"},
		{"port 65536", with("serviceInfo", "{name: a, port: 65536, namespace: b}"), "spec.serviceInfo.port"},
		{"a service without a name", with("serviceInfo", "{port: 1, namespace: b}"), "spec.serviceInfo.name: Required value"},
		{"a service without a namespace", with("serviceInfo", "{name: a, port: 1}"), "spec.serviceInfo.namespace: Required value"},

		{"no resource to watch", with("resourceToWatch", ""), "spec.resourceToWatch: Required value"},
		{"a resource of the core group", with("resourceToWatch", "{group: '', version: v1, resource: secrets}"), ""},
		{"a resource without a version", with("resourceToWatch", "{group: a, resource: b}"), "spec.resourceToWatch.version: Required value"},
		{"a resource without its name", with("resourceToWatch", "{group: a, version: v1}"), "spec.resourceToWatch.resource: Required value"},

		{"no gateway", with("gateway", ""), "spec.gateway: Required value"},
		{"a gateway without a selector", with("gateway", "{}"), ""},
	})
}

func TestWatcherStatus(t *testing.T) {
	const spec = `
spec:
  serviceInfo: {name: listener, port: 8082, namespace: kcp-system}
  resourceToWatch: {group: operator.kyma-project.io, version: '*', resource: kymas}
  field: spec
  gateway: {selector: {matchLabels: {app: gateway}}}
`
	verdicts := append(stateVerdicts(), verdict{
		"a status with all fields",
		"status: {state: Ready, observedGeneration: 1, conditions: [" + condition("VirtualService") + "]}", "",
	})
	for i := range verdicts {
		verdicts[i].yaml = spec + verdicts[i].yaml
	}
	requireVerdicts(t, "Watcher", verdicts)
}
