// Package windows computes when a module may be upgraded if the upgrade needs a downtime. It parses the maintenance
// policy (docs/contract.md#maintenance-policy), finds the windows of a Kyma, and computes the next one.
//
// A process has one Source for the policy file. Ask its policy for the window of a Kyma, by the Kyma's labels:
//
//	policy, err := source.Policy() // nil without an error: there is no policy, so nothing waits
//	begin, end, found := policy.Next(kyma.Labels, time.Now(), minSize)
//
// Invariants: all times are UTC. An invalid policy is never ignored: upgrades that need a window wait until it is
// corrected. Everything but source.go has no side effects.
//
//	policy.go  the policy, and which windows it gives to a Kyma
//	parse.go   parses a policy file, or returns an error that names the place in the file
//	window.go  weekly and dated windows
//	next.go    the ongoing or next window
//	source.go  the policy from a file that may change while the process runs
package windows

import (
	"regexp"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Policy is a maintenance policy. It is immutable and safe for concurrent use. A nil Policy has no windows.
type Policy struct {
	rules    []rule
	fallback []Window // the default window; empty if the policy has none
	ignored  []Problem
}

// Ignored returns the parts of the file that have no effect, or a different effect than their author may expect.
func (p *Policy) Ignored() []Problem { return p.ignored }

// rule gives windows to the Kymas that match it.
type rule struct {
	matches []labelMatch
	windows []Window
}

// labelMatch matches a label if the pattern matches any part of its value.
type labelMatch struct {
	label   string
	pattern *regexp.Regexp
}

// For returns the windows of a Kyma with these labels: the windows of the first rule that matches, else the default
// window. A rule matches if any one of its values matches. A value never matches a missing or empty label. Matched is
// false if no rule matches and there is no default. The windows belong to the policy and must not be changed.
func (p *Policy) For(labels map[string]string) (windows []Window, matched bool) {
	if p == nil {
		return nil, false
	}
	if r := p.ruleFor(labels); r != nil {
		return r.windows, true
	}
	return p.fallback, len(p.fallback) > 0
}

// Next returns the ongoing or next window of a Kyma with these labels, like the function Next. If the matching rule has
// no window any more, because all of its windows have dates in the past, the default window counts. So no upgrade waits
// for a date in the past. Found is false if no window will come before the policy is changed.
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

// matchLabels returns for each value of a rule its name and the label of a Kyma that it must match.
func matchLabels(m matchFile) []struct{ name, label, value string } {
	return []struct{ name, label, value string }{
		{"globalAccountID", shared.LabelGlobalAccountID, m.GlobalAccountID},
		{"globalAccountId", shared.LabelGlobalAccountID, m.GlobalAccountId},
		{"plan", shared.LabelBrokerPlanName, m.Plan},
		{"region", shared.LabelRegion, m.Region},
		{"platformRegion", shared.LabelPlatformRegion, m.PlatformRegion},
	}
}
