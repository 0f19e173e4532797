// Package windows says when a module may be upgraded that needs a downtime for it: it parses the maintenance
// policy (docs/contract.md#maintenance-policy), finds the windows of a Kyma, and computes the one that comes next.
//
//	policy.go  what a policy is, and which windows it gives to a Kyma
//	parse.go   a policy file becomes a Policy, or an error that names the place in the file
//	window.go  what a window is
//	next.go    the window that is now, or comes next
//	source.go  the policy of a file that changes while the process runs
//
// All but source.go is pure. All times are UTC.
package windows

import (
	"regexp"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Policy is a maintenance policy. It does not change, and is safe for concurrent use. A nil Policy has no
// windows for anybody.
type Policy struct {
	rules    []rule
	fallback []Window // the default window; empty where the policy has none
	ignored  []Problem
}

// Ignored are the parts of the file that have no effect, or another one than their author may think.
func (p *Policy) Ignored() []Problem { return p.ignored }

// rule gives windows to the Kymas that match it.
type rule struct {
	matches []labelMatch
	windows []Window
}

// labelMatch is satisfied by a label whose value the pattern matches, anywhere in it.
type labelMatch struct {
	label   string
	pattern *regexp.Regexp
}

// For returns the windows of a Kyma with these labels: those of the first rule that matches, else the default
// window. A rule matches when any one of its values does; a value never matches a label that is missing or
// empty. False means that the policy says nothing about this Kyma: no rule matches, and there is no default.
// The windows belong to the policy and must not be changed.
func (p *Policy) For(labels map[string]string) (windows []Window, matched bool) {
	if p == nil {
		return nil, false
	}
	if r := p.ruleFor(labels); r != nil {
		return r.windows, true
	}
	return p.fallback, len(p.fallback) > 0
}

// Next returns the window of a Kyma with these labels that is ongoing at an instant, or the next one, like
// the function Next. Where the rule that matches has no window any more, which happens when all of its windows
// have dates, the default window takes over, so that nothing waits for a day in the past. False means that
// no window will come until the policy is changed.
func (p *Policy) Next(labels map[string]string, now time.Time, minSize time.Duration) (begin, end time.Time, found bool) {
	windows, _ := p.For(labels)
	if begin, end, found = Next(windows, now, minSize); found || p == nil {
		return begin, end, found
	}
	return Next(p.fallback, now, minSize)
}

func (p *Policy) ruleFor(labels map[string]string) *rule {
	for i := range p.rules {
		for _, match := range p.rules[i].matches {
			if value := labels[match.label]; value != "" && match.pattern.MatchString(value) {
				return &p.rules[i]
			}
		}
	}
	return nil
}

// matchLabels are the labels of a Kyma that a rule's values are matched with, by the values' names.
func matchLabels(m matchFile) []struct{ name, label, value string } {
	return []struct{ name, label, value string }{
		{"globalAccountID", shared.LabelGlobalAccountID, m.GlobalAccountID},
		{"globalAccountId", shared.LabelGlobalAccountID, m.GlobalAccountId},
		{"plan", shared.LabelBrokerPlanName, m.Plan},
		{"region", shared.LabelRegion, m.Region},
		{"platformRegion", shared.LabelPlatformRegion, m.PlatformRegion},
	}
}
