package schematest

import "testing"

// planVerdicts are those of a plan, which is part of both kinds; at says where it is.
func planVerdicts(prefix, at string) []verdict {
	verdicts := []verdict{
		{"stages in each way", "stages: [{name: a, selector: {matchLabels: {x: z}}}, {name: b, percent: 10}, {name: c, count: 3}, {name: rest}]", ""},
		{"two ways at once", "stages: [{name: a, percent: 10, count: 3}]", "a stage takes its clusters by selector, percent or count"},
		{"two of a name", "stages: [{name: a, percent: 10}, {name: a}]", "each stage needs a name of its own"},
		{"the rest before the end", "stages: [{name: a}, {name: b, percent: 10}]", "only the last stage can be for the rest"},
		{"another rest", "stages: [{name: rest, percent: 10}]", "the name rest is for the stage that takes the rest"},
		{"no percent", "stages: [{name: a, percent: 0}]", at + "stages[0].percent"},
		{"too many percent", "stages: [{name: a, percent: 101}]", at + "stages[0].percent"},
		{"a count of none", "stages: [{name: a, count: 0}]", at + "stages[0].count"},
		{"a name that is none", "stages: [{name: A B}]", at + "stages[0].name"},

		{"a number at once", "concurrency: 5", ""},
		{"a share at once", "concurrency: 100%", ""},
		{"none at once", "concurrency: 0", "a number above 0, or a percentage"},
		{"no share at once", "concurrency: 0%", at + "concurrency"},
		{"a share above all", "concurrency: 101%", at + "concurrency"},
		{"a word for a number", "concurrency: many", at + "concurrency"},
		{"no failures", "maxFailures: 0", ""},
		{"a share of none", "maxFailures: 0%", ""},
		{"fewer failures than none", "maxFailures: -1", "a number, or a percentage"},
		{"of one stage", "stages: [{name: a, concurrency: 0}]", "a number above 0, or a percentage"},

		{"times", "{soak: 336h, settleWithin: 20m}", ""},
		{"a time without a unit", "soak: '5'", at + "soak"},
		{"an approval", "stages: [{name: a, approval: {when: after, persons: 2, expires: 72h, onExpiry: proceed}}]", ""},
		{"an approval by nobody", "stages: [{name: a, approval: {persons: 0}}]", at + "stages[0].approval.persons"},
		{"an approval at another time", "stages: [{name: a, approval: {when: during}}]", at + "stages[0].approval.when"},
		{"an analysis", "{analysisInterval: 1m, stages: [{name: a, analysisInterval: 30s, analysis: [{name: errors, query: 'rate(e[5m])', max: '0.01'}, {name: up, query: up, min: '-1.5', max: '1', onNoData: pass}]}]}", ""},
		{"an analysis without bounds", "stages: [{name: a, analysis: [{name: b, query: up}]}]", "a query needs min, max or both"},
		{"an analysis with nothing between its bounds", "stages: [{name: a, analysis: [{name: b, query: up, min: '10', max: '9'}]}]", "min must not be above max"},
		{"a bound that is no decimal number", "stages: [{name: a, analysis: [{name: b, query: up, min: 1e-3}]}]", at + "stages[0].analysis[0].min"},
		{"a bound that is empty", "stages: [{name: a, analysis: [{name: b, query: up, min: ''}]}]", at + "stages[0].analysis[0].min"},
		{"a query that asks nothing", "stages: [{name: a, analysis: [{name: b, query: '', min: '1'}]}]", at + "stages[0].analysis[0].query"},
		{"a query without a name", "stages: [{name: a, analysis: [{query: up, min: '1'}]}]", at + "stages[0].analysis[0].name"},
		{"two queries of a name", "stages: [{name: a, analysis: [{name: b, query: up, min: '1'}, {name: b, query: up, min: '1'}]}]", at + "stages[0].analysis[1]: Duplicate value"},
		{"another reaction to no data", "stages: [{name: a, analysis: [{name: b, query: up, min: '1', onNoData: fail}]}]", at + "stages[0].analysis[0].onNoData"},
		{"too short an interval", "analysisInterval: 29s", "at least 30s"},
		{"too short an interval of a stage", "stages: [{name: a, analysisInterval: 1s}]", "at least 30s"},
		{"what to do", "{onFailure: revert, revertScope: stage}", ""},
		{"a promotion", "promotion: {channels: [fast, regular]}", ""},
		{"a promotion with all", "promotion: {channels: [edge, fast, regular], after: {patch: 1h, minor: 72h, major: 336h}, approval: all, persons: 2}", ""},
		{"a promotion of hot-fixes", "promotion: {channels: [fast, regular], after: {hotFix: 1h}}", ""},
		{"a time of hot-fixes without a unit", "promotion: {channels: [fast, regular], after: {hotFix: '5'}}", at + "promotion.after.hotFix"},
		{"a promotion of nothing", "promotion: {approval: none}", at + "promotion.channels: Required value"},
		{"a promotion to nowhere", "promotion: {channels: [fast]}", at + "promotion.channels"},
		{"a promotion in a circle", "promotion: {channels: [fast, regular, fast]}", "a version comes to each channel once"},
		{"a channel without a name", "promotion: {channels: [fast, '']}", at + "promotion.channels[1]"},
		{"a time of promotion without a unit", "promotion: {channels: [fast, regular], after: {patch: '5'}}", at + "promotion.after.patch"},
		{"a promotion that somebody approves", "promotion: {channels: [fast, regular], approval: somebody}", at + "promotion.approval"},
		{"a promotion that too many approve", "promotion: {channels: [fast, regular], persons: 6}", at + "promotion.persons"},
		{"a stage that is approved as the promotion", "stages: [{name: promotion, percent: 10}]", "the name promotion is for approvals of the promotion"},
		{"what nobody can do", "onFailure: panic", at + "onFailure"},
	}
	for i := range verdicts {
		verdicts[i].yaml = prefix + indented(verdicts[i].yaml)
	}
	return verdicts
}

// indented is a flow mapping of one line.
func indented(fields string) string {
	if fields[0] == '{' {
		return fields + "}"
	}
	return "{" + fields + "}}"
}

func TestRolloutPolicySpec(t *testing.T) {
	verdicts := planVerdicts("{spec: ", "spec.")
	requireVerdicts(t, "RolloutPolicy", append(verdicts,
		verdict{"for all", "spec: {}", ""},
		verdict{"for some", "spec: {modules: [keda], selector: {matchLabels: {a: b}}, channels: [fast], mandatory: true}", ""},
		verdict{"no spec", "{}", "spec: Required value"},
	))
}

func TestModuleRolloutSpec(t *testing.T) {
	const least = "moduleName: keda, from: 1.0.0, to: 1.1.0"
	verdicts := planVerdicts("{spec: {"+least+", plan: ", "spec.plan.")
	for i := range verdicts {
		verdicts[i].yaml += "}"
	}
	requireVerdicts(t, "ModuleRollout", append(verdicts,
		verdict{"the least", "spec: {" + least + "}", ""},
		verdict{"all wishes", "spec: {" + least + ", channel: fast, policy: all, sequence: 7, paused: true, abort: true, revert: all, skipSoak: ['*'], skipAnalysis: [a], " +
			"acceptFailures: 3, approvals: [{stage: a, reason: b, by: c, at: '2026-11-20T23:42:00Z'}]}", ""},
		verdict{"no module", "spec: {from: 1.0.0, to: 1.1.0}", "spec.moduleName: Required value"},
		verdict{"no version", "spec: {moduleName: keda, from: 1.0.0}", "spec.to: Required value"},
		verdict{"an approval of nothing", "spec: {" + least + ", approvals: [{by: a}]}", "spec.approvals[0].stage: Required value"},
		verdict{"fewer than no failures", "spec: {" + least + ", acceptFailures: -1}", "spec.acceptFailures"},
	))
}

func TestRemovalBudget(t *testing.T) {
	requireVerdicts(t, "RemovalBudget", []verdict{
		{"nothing", "{}", ""},
		{"both kinds of approvals", "spec: {approvals: [{clusters: 5, reason: a}, {change: '7', by: b, at: '2026-11-20T23:42:00Z'}]}", ""},
		{"an approval of nothing", "spec: {approvals: [{reason: a}]}", "an approval has either clusters or change"},
		{"an approval of two things", "spec: {approvals: [{clusters: 5, change: '7'}]}", "an approval has either clusters or change"},
		{"an approval of no cluster", "spec: {approvals: [{clusters: 0}]}", "spec.approvals[0].clusters"},
		{"all of a status", "status: {limit: 10, used: 2, held: 1, heldSince: '2026-11-20T23:42:00Z', conditions: [" + condition("Held") + "], " +
			"taken: [{kyma: a/b, uid: c, at: '2026-11-20T23:42:00Z', approved: true}]}", ""},
	})
}

func TestModuleRolloutStatus(t *testing.T) {
	const spec = "spec: {moduleName: keda, from: 1.0.0, to: 1.1.0}\n"
	requireVerdicts(t, "ModuleRollout", []verdict{
		{"all fields", spec + "status: {phase: Held, stage: 1, released: 9007199254740992, reverts: true, revertTo: 1, progress: 1/2, stageName: a, waitsFor: b, " +
			"waitsSince: '2026-11-20T23:42:00Z', waitsUntil: '2026-11-20T23:42:00Z', observedGeneration: 1, startedAt: '2026-11-20T23:42:00Z', completedAt: '2026-11-20T23:42:00Z', " +
			"failures: [{reason: a, message: b, clusters: 3, kymas: [a/b], layer: c}], conditions: [" + condition("Ready") + "], " +
			"stages: [{name: a, bound: 1, total: 1, released: 1, updating: 1, ready: 1, failed: 1, broken: 1, waiting: 1, deferred: 1, unreachable: 1, startedAt: '2026-11-20T23:42:00Z', failedWhenSettled: 1, " +
			"analysis: [{name: a, state: Failed, value: '0.5', message: b, since: '2026-11-20T23:42:00Z'}]}], " +
			"deferrals: [{kyma: a/b, until: '2026-11-20T23:42:00Z'}], " +
			"promotion: {toChannel: b, change: major, priority: hot-fix, since: '2026-11-20T23:42:00Z', until: '2026-11-20T23:42:00Z', promotedAt: '2026-11-20T23:42:00Z', ended: c}}", ""},
		{"an unknown priority", spec + "status: {promotion: {toChannel: b, priority: urgent}}", "status.promotion.priority: Unsupported value"},
		{"an unknown change", spec + "status: {promotion: {toChannel: b, change: huge}}", "status.promotion.change: Unsupported value"},
		{"an unknown state of a query", spec + "status: {stages: [{name: a, total: 1, released: 1, updating: 1, ready: 1, failed: 1, analysis: [{name: a, state: Odd}]}]}", "analysis[0].state: Unsupported value"},
		{"an unknown phase", spec + "status: {phase: Stuck}", "status.phase: Unsupported value"},
	})
}
